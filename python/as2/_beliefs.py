"""Beliefs and assignments as users give them: tensors in the order of `program.positions`, or names as keys."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

import torch

from ._library import call, ops
from ._options import several, texts
from .errors import input_error, warn

if TYPE_CHECKING:
    from ._program import Program
    from ._results import Position


class Array(Protocol):
    """What NumPy's arrays are, said without NumPy, which need not be there."""
    @property
    def __array_interface__(self) -> Mapping[str, Any]: ...


BeliefsByName = Mapping[str, Mapping[Any, float]]  # {position: {symbol: probability}}
GivenBeliefs = Union[torch.Tensor, Array, BeliefsByName, Sequence[BeliefsByName]]
GivenAssignments = Union[torch.Tensor, Mapping[str, Any], Sequence[Mapping[str, Any]]]  # {position: symbol}

_SUM_TOLERANCE = 1e-3  # as on the command line


class Beliefs(NamedTuple):
    p: torch.Tensor                   # [batch, positions, symbols]
    believed: Optional[torch.Tensor]  # [batch, positions] bool: weighs p, else 1; None: every position
    single: bool                      # one instance was given, not a batch


def require_position(program: "Program", name: Any) -> int:
    index = program.index.get(str(name))
    if index is None:
        index = program.index.get(call(ops.as_printed, str(name)))  # as clingo has it, without blanks outside strings
    if index is not None:
        return index
    raise input_error(f"the program has no position '{name}'", program._native.position_hint(str(name)))


def matching_positions(program: "Program", pattern: str) -> List[int]:
    """The position of this name, or else those that it matches as a pattern, in which `*` stands for any text."""
    return list(call(program._native.positions_named, pattern))


def require_symbol(program: "Program", position: int, symbol: Any) -> int:
    at = program.positions[position]
    text = ("true" if symbol else "false") if isinstance(symbol, bool) else str(symbol)
    for written in (text, call(ops.as_printed, text)):
        if written in at.symbols:
            return at.symbols.index(written)
    shown = ", ".join(at.symbols[:12]) + (", …" if len(at.symbols) > 12 else "")
    raise input_error(f"position '{at.name}' has no symbol '{symbol}'", f"its symbols are {shown}")


def _as_row(position: "Position", given: Any) -> Mapping[str, float]:
    """What was given in place of a distribution, written as one: 0.8 of a Boolean position is that of true."""
    boolean = position.symbols == ("false", "true")
    if isinstance(given, bool) and boolean:
        return {str(given).lower(): 1}
    if isinstance(given, (int, float)) and boolean and 0 <= given <= 1:
        return {"true": given}
    if str(given) in position.symbols:
        return {str(given): 1}
    return dict.fromkeys(position.symbols[:2], 1 / min(len(position.symbols), 2))


def _of_dict(program: "Program", given: BeliefsByName, p: torch.Tensor, believed: torch.Tensor) -> None:
    for name, row in given.items():
        i = require_position(program, name)
        if not isinstance(row, Mapping):
            raise input_error(f"beliefs of '{name}': found {row!r}, expected a dict of symbols",
                              "write " + json.dumps(_as_row(program.positions[i], row)))
        if believed[i]:
            raise input_error(f"beliefs of '{name}' are given twice")
        believed[i] = True
        p[i] = 0
        listed = set()
        for symbol, value in row.items():
            s = require_symbol(program, i, symbol)
            if s in listed:
                raise input_error(f"the belief of '{name}' in '{symbol}' is given twice")
            listed.add(s)
            if getattr(value, "requires_grad", False):
                raise input_error(f"the belief of '{name}' in '{symbol}' requires a gradient, which a dict would lose",
                                  "give the beliefs as a tensor, or .detach() the value")
            try:
                p[i, s] = float(value)
            except (TypeError, ValueError):
                raise input_error(f"belief of '{name}' in '{symbol}': found {value!r}, expected a number") from None
            # {"true": 0.2} says what is left for "false".
            if len(row) == 1 and len(program.positions[i].symbols) == 2 and 0 <= p[i, s] < 1:
                p[i, 1 - s] = 1 - p[i, s]


def _normalised(program: "Program", p: torch.Tensor, tolerance: float = _SUM_TOLERANCE) -> torch.Tensor:
    """Rows sum to 1 as they are, or are made to, with a warning where they are further off than `tolerance`."""
    if not bool(program.mask.all()):  # whatever stands in the padding, not a number say, is in nobody's gradient
        p = torch.where(program.mask.to(p.device), p, torch.zeros((), dtype=p.dtype, device=p.device))
    sums = p.sum(-1)
    total = sums.detach()
    empty = (total == 0).nonzero()
    if len(empty):
        b, i = empty[0].tolist()
        raise input_error(f"beliefs of '{program.positions[i].name}' in row {b}: all zero",
                          "give the position a uniform belief, or leave it out of the dict")
    distance = (total - 1).abs()
    off = distance > _SUM_TOLERANCE
    if not bool(off.any()):
        return p
    if bool((distance > tolerance).any()):
        b, i = (distance > tolerance).nonzero()[0].tolist()
        warn(f"beliefs of '{program.positions[i].name}' in row {b} sum to {float(total[b, i]):.6g}; normalised"
             + (" (logits become probabilities with .softmax(-1))" if float(p[b, i].detach().max()) > 1 else ""))
    return torch.where(off.unsqueeze(-1), p / sums.clamp_min(1e-38).unsqueeze(-1), p)


def read_beliefs(program: "Program", given: Any) -> Beliefs:
    """A tensor or array [positions, symbols] or [batch, positions, symbols], a dict, or a list of dicts.

    In a dict a position left out is uniform where a distribution is needed and weighs 1 in probabilities; a
    symbol left out of a listed position is 0, or the rest where there are but two. In a tensor all positions but guesses are believed.
    """
    if hasattr(given, "__array_interface__"):  # NumPy's arrays have it, tensors have not
        try:
            given = torch.as_tensor(given)
        except (TypeError, ValueError) as error:
            raise input_error(f"beliefs are an array that PyTorch cannot take: {error}") from None
    if isinstance(given, torch.Tensor):
        shape = [len(program.positions), program.symbols]
        if given.dim() not in (2, 3) or list(given.shape[-2:]) != shape:
            raise input_error(f"beliefs are {list(given.shape)}, expected {shape} or [batch, {shape[0]}, {shape[1]}]",
                              "one row per position, padded to the largest domain")
        single = given.dim() == 2
        p = given.unsqueeze(0) if single else given
        if p.device.type == "meta":
            raise input_error("beliefs on the device 'meta' have no values", "move them to 'cpu' or 'cuda'")
        call(ops.check_beliefs, program._native, p.detach().cpu())
        low = p.dtype in (torch.float16, torch.bfloat16)  # whose softmax is off by as much
        p = p.to(torch.promote_types(p.dtype, torch.float32))
        believed = None
        if program.has_guesses:
            believed = program.believable.to(p.device).expand(p.shape[0], -1)
        return Beliefs(_normalised(program, p, 10 * _SUM_TOLERANCE if low else _SUM_TOLERANCE), believed, single)
    single = isinstance(given, Mapping)
    rows = several(given)
    if not all(isinstance(row, Mapping) for row in rows):
        raise input_error(f"beliefs are a {type(given).__name__}, expected a tensor, an array, a dict or a list of dicts",
                          'a dict is {"cell(1,1,_)": {"5": 0.9, "3": 0.1}}')
    p = program.uniform.repeat(len(rows), 1, 1)
    believed = torch.zeros(len(rows), len(program.positions), dtype=torch.bool)
    for b, row in enumerate(rows):
        _of_dict(program, row, p[b], believed[b])
    call(ops.check_beliefs, program._native, p)
    return Beliefs(_normalised(program, p), believed, single)


def read_positions(program: "Program", given: Any, batch: int) -> List[List[int]]:
    """Positions by name, or bool [positions] or [batch, positions]; a list of indices per instance."""
    if isinstance(given, torch.Tensor):
        fits = [len(program.positions)], [batch, len(program.positions)]
        if given.dtype != torch.bool or list(given.shape) not in fits:
            found = f"{str(given.dtype).replace('torch.', '')} {list(given.shape)}"
            raise input_error(f"evidence is {found}, expected bool {fits[0]} or {fits[1]}",
                              "it says of each position, or of each row and position, whether it was read")
        return [row.nonzero().flatten().tolist() for row in given.expand(batch, -1)]
    names = texts("evidence", given)
    return [[i for name in names for i in matching_positions(program, name) or [require_position(program, name)]]] * batch


def read_assignments(program: "Program", given: Any) -> Tuple[torch.Tensor, bool]:
    """Symbols [batch, positions] int64, and whether one assignment was given, not a batch."""
    if isinstance(given, torch.Tensor):
        single = given.dim() == 1
        symbols = (given.unsqueeze(0) if single else given).cpu()
        if symbols.is_floating_point() or symbols.dim() != 2 or symbols.shape[1] != len(program.positions):
            raise input_error(f"assignments are {symbols.dtype} {list(given.shape)}, expected integers "
                              f"[batch, {len(program.positions)}]", "each is an index into its position's symbols")
        outside = ((symbols < 0) | (symbols >= program.domains)).nonzero()
        if len(outside):
            b, i = outside[0].tolist()
            raise input_error(f"position '{program.positions[i].name}' in row {b} has no symbol of index "
                              f"{int(symbols[b, i])}", f"it has {len(program.positions[i].symbols)} symbols")
        return symbols.long(), single
    single = isinstance(given, Mapping)
    rows = several(given)
    if not all(isinstance(row, Mapping) for row in rows):
        raise input_error(f"an assignment is a {type(given).__name__}, expected a dict, a tensor or an answer of decode()",
                          'a dict is {"cell(1,1,_)": "5"}')
    symbols = torch.full((len(rows), len(program.positions)), -1, dtype=torch.int64)
    for b, row in enumerate(rows):
        for name, symbol in row.items():
            i = require_position(program, name)
            symbols[b, i] = require_symbol(program, i, symbol)
        missing = (symbols[b] < 0).nonzero().flatten()
        if len(missing):
            raise input_error(f"no symbol for position '{program.positions[int(missing[0])].name}'",
                              "an assignment gives every position one symbol")
    return symbols, single
