"""What a program is made of and what the calls answer, as dataclasses that print well."""
from __future__ import annotations

import dataclasses
import html
import math
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union, overload

import torch

from ._library import call, ops
from .errors import input_error

if TYPE_CHECKING:
    from ._program import Program

Assignment = Dict[str, str]


@dataclasses.dataclass(frozen=True)
class Position:
    """Something that has exactly one of `symbols`; its rows in tensors stand at `index`."""
    index: int
    name: str
    symbols: Tuple[str, ...]
    guess: bool
    file: str
    line: int

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class Family:
    """One statement of the program: what kind of constraint it became, and how many groups and terms."""
    name: str
    file: str
    line: int
    kind: str
    groups: int
    terms: int
    text: str = dataclasses.field(repr=False, default="")


@dataclasses.dataclass(frozen=True)
class Group:
    """What one family says about one set of positions."""
    family: str
    kind: str
    positions: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Message:
    """A warning or a note of the compiler."""
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else ""
        return place + self.message


@dataclasses.dataclass(frozen=True)
class Change:
    """A position read one way and decoded another."""
    position: str
    read: str
    decoded: str
    p_read: float
    p_decoded: float

    def __str__(self) -> str:
        return (f"{self.position} read {self.read} (p = {self.p_read:.3g}), "
                f"decoded {self.decoded} (p = {self.p_decoded:.3g})")


@dataclasses.dataclass(frozen=True)
class Conflict:
    """A group that the reading breaks, or that belongs to what cannot hold together."""
    family: str
    file: str
    line: int
    positions: Tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.family} ({self.file}:{self.line}) at {' '.join(self.positions)}"


@dataclasses.dataclass(frozen=True)
class UniqueReading:
    """Whether the answer is the only completion of its reading; true where it is (`if answer.unique:`).

    found: it is. rank: the reading's place among those that can be completed, the most probable first; None where
      none was found.
    readings: how many were tested. complete: it is proved that no more probable reading qualifies or, where none was
      found, that none within the margin does.
    """
    found: bool
    rank: Optional[int]
    readings: int
    complete: bool

    def __bool__(self) -> bool:
        return self.found


@dataclasses.dataclass(frozen=True)
class Model:
    """One assignment that satisfies the program, {position: symbol}, with its log p, and its cost per level, highest
    priority first, where the program has objectives."""
    assignment: Assignment
    log_probability: float
    cost: Tuple[int, ...] = ()

    def __str__(self) -> str:
        return (f"log p = {self.log_probability:.6g}" + (f", cost {list(self.cost)}" if self.cost else "") + ": "
                + ", ".join(f"{position} = {symbol}" for position, symbol in self.assignment.items()))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)  # tensors have no one truth of being equal
class Decoded:
    """The answer about one instance. `print` it for the whole answer.

    status: "optimal"; "satisfied": an answer, not proved to be the best (a budget ran out, or greedy);
      "unsatisfiable": proved that there is none; "dead_end": greedy got stuck; "unknown": a budget ran out with nothing
      found.
    models: the answers, best first, as many as were asked for or there are; empty where there is none.
    symbols: [models, positions] int64, indices into each position's symbols.
    atoms: what clingo would show of the best model; None where there is none.
    changed: what was read one way and decoded another; conflicts: the groups that the reading breaks or, where the
      answer is "unsatisfiable", that cannot hold together. Both empty with explain=False.
    conflicting_pins: the pins among what cannot hold together.
    nodes: of the search. gap: by how much, at most, the best answer's score lies above the one found.
    dead_end_position: for which greedy found no symbol left.
    unique: what came of unique=True; None without it.
    """
    status: str
    models: List[Model]
    symbols: torch.Tensor
    atoms: Optional[List[str]]
    changed: List[Change]
    conflicts: List[Conflict]
    conflicting_pins: Assignment
    nodes: int
    gap: float
    dead_end_position: Optional[str]
    unique: Optional[UniqueReading]

    @property
    def assignment(self) -> Optional[Assignment]:
        """{position: symbol} of the best model; None where there is none."""
        return self.models[0].assignment if self.models else None

    @property
    def log_probability(self) -> Optional[float]:
        """log p of the best model, a number; None where there is none. (Of a batch it is a tensor.)"""
        return self.models[0].log_probability if self.models else None

    @property
    def cost(self) -> Optional[Tuple[int, ...]]:
        """Of the best model, per level, highest priority first."""
        return self.models[0].cost if self.models else None

    def __repr__(self) -> str:
        return (f"<as2.Decoded {self._head()}: {self.symbols.shape[-1]} positions, {len(self.models)} models, "
                f"{len(self.changed)} changed>")

    def _repr_html_(self) -> str:
        head, *lines = str(self).split("\n")
        return f"<p><b>{html.escape(head)}</b></p>" + "".join(f"<div>{html.escape(line)}</div>" for line in lines)

    def _head(self) -> str:
        head = self.status
        if self.dead_end_position:
            head += f": nothing is left for {self.dead_end_position}"
        if self.models:
            head += f", log p = {self.log_probability:.6g}"
            if self.cost:
                head += f", cost {list(self.cost)}"
        return head

    def __str__(self) -> str:
        lines = [self._head()]
        if self.atoms:
            lines.append(" ".join(self.atoms))
        lines += [f"changed: {change}" for change in self.changed]
        why = "in conflict: " if self.status == "unsatisfiable" else "broken by the reading: "
        lines += [why + str(conflict) for conflict in self.conflicts]
        lines += [f"in conflict: the pin {position} = {symbol}" for position, symbol in self.conflicting_pins.items()]
        return "\n".join(lines)


class DecodedBatch(Sequence[Decoded]):
    """The answers about a batch: a sequence of `Decoded`, the tensors they are made of, and lists of what each says.

    symbols: [batch, models, positions] int64, -1 where there is no model.
    log_probability: [batch, models] float64, -inf there. (Of one `Decoded` it is a number, of the best model.)
    """

    def __init__(self, program: "Program", symbols: torch.Tensor, log_probability: torch.Tensor, rest: List[dict]) -> None:
        self._program, self._rest = program, rest
        self.symbols, self.log_probability = symbols, log_probability

    @property
    def status(self) -> List[str]:
        """How each instance ended."""
        return [row["status"] for row in self._rest]

    @property
    def assignment(self) -> List[Optional[Assignment]]:
        """{position: symbol} of each instance's best model."""
        return [one.assignment for one in self]

    @property
    def atoms(self) -> List[Optional[List[str]]]:
        """What clingo would show of each instance's best model."""
        return [one.atoms for one in self]

    @property
    def changed(self) -> List[List[Change]]:
        """What was read one way and decoded another, per instance."""
        return [one.changed for one in self]

    @property
    def conflicts(self) -> List[List[Conflict]]:
        """Why, per instance."""
        return [one.conflicts for one in self]

    @property
    def unique(self) -> List[Optional[UniqueReading]]:
        """What came of unique=True, per instance."""
        return [one.unique for one in self]

    def __len__(self) -> int:
        return len(self._rest)

    @overload
    def __getitem__(self, index: int) -> Decoded: ...

    @overload
    def __getitem__(self, index: slice) -> List[Decoded]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Decoded, List[Decoded]]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return _decoded(self._program, self.symbols[index], self.log_probability[index], self._rest[index])

    def __repr__(self) -> str:
        counts: Dict[str, int] = {}
        for status in self.status:
            counts[status] = counts.get(status, 0) + 1
        return f"DecodedBatch({len(self)} instances: " + ", ".join(f"{n} {s}" for s, n in counts.items()) + ")"


def _conflicts(program: "Program", groups: Sequence[int]) -> List[Conflict]:
    found = []
    for g in groups:
        family, positions = program._groups[g]["family"], program._groups[g]["positions"]
        at = program.families[family]
        found.append(Conflict(at.name, at.file, at.line, tuple(program.positions[i].name for i in positions)))
    return found


def _changes(program: "Program", rows: Sequence[Sequence[Any]]) -> List[Change]:
    changes = []
    for i, read, decoded, p_read, p_decoded in rows:
        position = program.positions[i]
        changes.append(Change(position.name, position.symbols[read], position.symbols[decoded], p_read, p_decoded))
    return changes


def _decoded(program: "Program", symbols: torch.Tensor, log_p: torch.Tensor, rest: dict) -> Decoded:
    count = rest["models"]
    symbols = symbols[:count]
    costs = rest.get("costs", [[]] * count)
    models = [Model(program._named(symbols[k].tolist()), float(log_p[k]), tuple(costs[k])) for k in range(count)]
    pins = {}
    for i, s in rest.get("conflicting_pins", []):
        pins[program.positions[i].name] = program.positions[i].symbols[s]
    dead_end = rest.get("dead_end_position")
    unique = rest.get("unique")
    return Decoded(
        status=rest["status"], models=models, symbols=symbols,
        atoms=call(ops.shown_atoms, program._native, symbols[:1])[0] if count else None,
        changed=_changes(program, rest.get("changed", [])),
        conflicts=_conflicts(program, rest.get("conflicts", [])), conflicting_pins=pins,
        nodes=rest["nodes"], gap=rest["gap"],
        dead_end_position=None if dead_end is None else program.positions[dead_end].name,
        unique=None if unique is None else UniqueReading(**unique))


@dataclasses.dataclass(frozen=True)
class Violation:
    """A statement that does not hold; file and line are None where none is to blame."""
    family: str
    file: Optional[str]
    line: Optional[int]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """clingo's word. valid is None where there is no clingo, or no answer in time; `message` says which."""
    valid: Optional[bool]
    violated: List[Violation]
    message: str = ""

    def __bool__(self) -> bool:
        return self.valid is True


class Verdicts(Tuple[Verdict, ...]):
    """clingo's word on several answers, one `Verdict` each."""

    @property
    def valid(self) -> Optional[bool]:
        """True: all are; False: some are not; None: clingo has not said so of all, and of none that it is not."""
        words = [verdict.valid for verdict in self]
        return False if False in words else None if None in words else True

    def __bool__(self) -> bool:
        return self.valid is True


@dataclasses.dataclass(frozen=True)
class Approximation:
    """Probabilities of `queries`, none of which is off by more than `bound` (when drawn: with 95 % confidence), and
    log P(program), which is a lower bound where the best answers were summed."""
    log_p_program: float
    bound: float
    queries: Dict[str, float]


@dataclasses.dataclass(frozen=True)
class Solution:
    """A board read from a picture and solved.

    read: what perception saw; confidence: perception's belief in a clue, the reasoner's in a filled cell;
    unique: whether it is the only answer; margin: log p of the answer minus that of the next best;
    reread: where what was seen has several completions, what came of looking for a reading with one, else None;
    timed_out: whether time ran out before everything was tried;
    box: rows and columns of the boxes that the board is shown in, None or those of the board where it has none.
    """
    file: str
    status: str
    assignment: Optional[Assignment] = dataclasses.field(repr=False)
    read: Assignment = dataclasses.field(repr=False)
    confidence: Dict[str, float] = dataclasses.field(repr=False)
    changed: List[Change]
    conflicts: List[Conflict]
    unique: Optional[bool]
    margin: Optional[float]
    reread: Optional[UniqueReading]
    timed_out: bool = False
    box: Optional[Tuple[int, int]] = None

    def rows(self) -> List[List[str]]:
        """The symbols as a square."""
        if self.assignment is None:
            raise input_error(f"{self.file}: what was read has no completion", "; ".join(map(str, self.conflicts)))
        symbols = list(self.assignment.values())
        side = math.isqrt(len(symbols))
        return [symbols[row * side:(row + 1) * side] for row in range(side)]

    def __str__(self) -> str:
        if self.assignment is None:
            return f"{self.file}: {self.status}; what was read has no completion"
        rows = self.rows()
        high, wide = self.box or (len(rows), len(rows))
        width = max(len(symbol) for row in rows for symbol in row)
        lines = []
        for r, row in enumerate(rows):
            if r and r % high == 0:
                lines.append("+".join(["-" * ((width + 1) * wide + 1)] * (len(rows) // wide))[1:])
            cells = [symbol.rjust(width) for symbol in row]
            lines.append(" | ".join(" ".join(cells[k:k + wide]) for k in range(0, len(cells), wide)))
        lines += [f"changed: {change}" for change in self.changed]
        if self.timed_out:
            lines.append("time ran out before everything was tried")
        return "\n".join(lines)

    def show(self) -> None:
        """Prints the board."""
        print(self)

    def _repr_html_(self) -> str:
        if self.assignment is None:
            return f"<p>{html.escape(str(self))}</p>"
        side = math.isqrt(len(self.assignment))
        high, wide = self.box or (side, side)
        cells = []
        for k, (position, symbol) in enumerate(self.assignment.items()):
            heavy = "border-left:2px solid;" * (k % side % wide == 0) + "border-top:2px solid;" * (k // side % high == 0)
            weight = "bold" if position in self.read else "normal"
            cells.append(("<tr>" if k % side == 0 else "") + f'<td style="{heavy}font-weight:{weight}">{html.escape(symbol)}</td>')
        return "<table>" + "".join(cells) + "</table>"
