"""Modules of PyTorch over a program: SoftTp and Module."""
from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

import torch

from ._beliefs import matching_positions
from ._library import call, operator, require_tensor
from ._options import Texts, is_several, texts, whole
from ._program import FLOOR, Path, Program, compile
from .errors import input_error

_loss, _image, _residual = operator("soft_tp_loss"), operator("soft_tp_image"), operator("soft_tp_residual")
_leave_one_out, _max_residual = operator("soft_tp_leave_one_out"), operator("soft_tp_max_residual")
_refine, _expected_cost = operator("soft_tp_refine"), operator("soft_tp_expected_cost")
_log_weights, _distribution = operator("log_weights"), operator("distribution")
Observed = Union[torch.Tensor, Sequence[int], Sequence[str]]


class SoftTp(torch.nn.Module):
    """Soft T_P of a program (the paper's Eq. 1, 2, 3 and 6).

    Beliefs are a tensor [batch, positions, symbols] in the order of `program.positions`, padded to `program.symbols`;
    what stands in the padding is ignored and comes back 0. float32 or float64, any device; lower precisions are computed
    in float32. Everything but max_residual is differentiable.
    """

    if TYPE_CHECKING:  # nn.Module says Any
        def __call__(self, p: torch.Tensor) -> torch.Tensor: ...

    def __init__(self, program: Program) -> None:
        super().__init__()
        if not isinstance(program, Program):
            raise input_error(f"program is a {type(program).__name__}, expected a compiled program",
                              'as2.compile("sudoku.lp") gives one, and program.soft_tp() the same module')
        self.program = program
        self._number: int = program._native.number()

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._number = self.program._native.number()

    def forward(self, p: torch.Tensor) -> torch.Tensor:
        """loss(p)."""
        return self.loss(p)

    def loss(self, p: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
        """Σ (p − T_P(p))² over all residual terms, averaged over the batch: a scalar. "mean" divides by the number
        of terms, "sum" is the paper's literal form."""
        if reduction not in ("mean", "sum"):
            raise input_error(f"reduction is '{reduction}', expected 'mean' or 'sum'")
        return _loss(p, self._number, int(reduction == "sum"))

    def image(self, p: torch.Tensor) -> torch.Tensor:
        """T_P(p), one per family: [batch, families, positions, symbols]."""
        return _image(p, self._number)

    def residual(self, p: torch.Tensor) -> torch.Tensor:
        """p − T_P(p), one per family: [batch, families, positions, symbols]."""
        return _residual(p, self._number)

    def leave_one_out(self, p: torch.Tensor) -> torch.Tensor:
        """The factor without p itself, one per family: [batch, families, positions, symbols]."""
        return _leave_one_out(p, self._number)

    def max_residual(self, p: torch.Tensor) -> torch.Tensor:
        """The largest |p − T_P(p)| of each instance: [batch]."""
        return _max_residual(p, self._number)

    def refine(self, p: torch.Tensor, steps: int = 1) -> torch.Tensor:
        """Beliefs refined at most `steps` times: [batch, positions, symbols]."""
        return _refine(p, self._number, whole("steps", steps))

    def expected_cost(self, p: torch.Tensor) -> torch.Tensor:
        """E[cost] of each objective level, highest priority first: [batch, levels]."""
        return _expected_cost(p, self._number)

    def extra_repr(self) -> str:
        return repr(self.program)


class Module(torch.nn.Module):
    """The exact distribution of atoms that a program derives from what a network believes.

    >>> add = as2.Module("addition.lp", inputs="digit(*", output="total(_)")
    >>> add(torch.rand(256, 2, 10).softmax(-1)).shape      # P(total(0)) … P(total(18))
    torch.Size([256, 19])

    program: an as2.Program, or the path of one; keywords then replace its constants.
    inputs: which positions the beliefs are about: a pattern in which `*` stands for any text, or a list of
      patterns. All other positions follow from the program and weigh 1.
    output: the atoms, `_` for any argument; or a list of such patterns.

    time_budget, memory_budget: seconds and MiB for compiling the circuit, 0: no limit.
    constants, and further keywords: replace constants of the program, as in as2.compile().

    forward: [batch, inputs, symbols] → [batch, atoms]: the rows are `input_names`, their columns `input_symbols`; the
    result's columns are `atoms`. A position with a smaller domain than the widest input is padded. Rows of beliefs need
    not sum to 1: P is relative to all answer sets, so a row that is scaled says the same.
    """

    if TYPE_CHECKING:  # nn.Module says Any
        def __call__(self, p: torch.Tensor) -> torch.Tensor: ...

    def __init__(self, program: Union[Program, Path], inputs: Texts, output: Texts, *, time_budget: float = 60,
                 memory_budget: float = 2048, constants: Optional[Mapping[str, Any]] = None, **more_constants: Any) -> None:
        super().__init__()
        if not isinstance(program, Program):
            program = compile(program, constants=constants, **more_constants)
        elif constants or more_constants:
            raise input_error(f"constants have no effect on a compiled program: {', '.join({**(constants or {}), **more_constants})}",
                              "give them to as2.compile")
        self.program = program
        chosen: List[int] = []
        for pattern in texts("inputs", inputs):
            found = matching_positions(program, pattern)
            if not found:
                raise input_error(f"no position matches '{pattern}'",
                                  "`*` stands for any text; " + program._native.position_hint(pattern))
            chosen += [i for i in found if i not in chosen]
        for name, patterns in (("inputs", inputs), ("output", output)):
            if not texts(name, patterns):
                raise input_error(f"{name} is empty, expected at least one pattern")
        self._asked = (chosen, texts("output", output), time_budget, memory_budget)
        self._ask()
        self.input_names = [program.positions[i].name for i in chosen]
        self.input_symbols = [list(program.positions[i].symbols) for i in chosen]

    def _ask(self) -> None:
        chosen, output, seconds, mebibytes = self._asked
        # A belief of 0 that forbids what is observed keeps a gradient that can raise it.
        self._questions = self.program._ask((), output, seconds, mebibytes, chosen, FLOOR)
        self._number: int = self._questions.number()
        self.atoms: List[str] = self._questions.names()

    def __getstate__(self) -> Any:
        state = self.__dict__.copy()
        del state["_questions"], state["_number"]
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._ask()

    def log_probability(self, p: torch.Tensor, observed: Optional[Observed] = None) -> torch.Tensor:
        """log P(atom): [batch, inputs, symbols] → [batch, atoms]; in logarithms throughout, and beliefs of 0 taken for
        1e-30, so that what is as good as impossible keeps a finite gradient. One evaluation of the circuit per atom, where
        forward() of a position's symbols takes two in all.

        observed: what is known of each row, → [batch], its log P, two evaluations per row: one label per row, the index of
          its atom among `atoms`; or one text, all of which holds, such as "total(7), not digit(1,3)". Derived atoms in it
          must be among the outputs.
        """
        if observed is not None:
            require_tensor(p)
            return call(self._questions.log_observed, p, self._texts(observed))
        logs = _log_weights(p, self._number)
        return logs[:, 1:] - logs[:, :1]

    def _texts(self, observed: Any) -> List[str]:
        if isinstance(observed, torch.Tensor):
            if observed.dim() != 1 or observed.dtype.is_floating_point or observed.dtype == torch.bool:
                raise input_error(f"observed is {str(observed.dtype).replace('torch.', '')} {list(observed.shape)}, expected "
                                  "integers [batch]", "one label per row, an index into .atoms")
        if hasattr(observed, "tolist"):  # NumPy's arrays, too
            observed = observed.tolist()
        if not is_several(observed):
            raise input_error(f"observed is {observed!r}, expected a list, one text or label per row")
        listed = list(observed)
        for row, label in enumerate(listed):
            if isinstance(label, str):
                continue
            try:
                label = index(label)
            except TypeError:
                raise input_error(f"the label of row {row} is {label!r}, expected a text or an index into .atoms") from None
            if not 0 <= label < len(self.atoms):
                raise input_error(f"the label of row {row} is {label}, expected 0 … {len(self.atoms) - 1}",
                                  "it is an index into .atoms")
            listed[row] = self.atoms[label]
        return listed

    def forward(self, p: torch.Tensor) -> torch.Tensor:
        """P(atom): [batch, inputs, symbols] → [batch, atoms]; 0 where beliefs of 0 forbid it, whose gradient can raise
        them all the same."""
        return _distribution(p, self._number)

    def extra_repr(self) -> str:
        return f"{len(self.input_names)} inputs {self.input_names[0]} …, {len(self.atoms)} atoms {self.atoms[0]} …"
