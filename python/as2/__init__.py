"""AS2: answer set programs as differentiable constraints, with a decoder, exact probabilities and certificates.

>>> program = as2.compile("sudoku.lp", b=3)
>>> loss = program.soft_tp().loss(p)            # p [batch, 81, 9], in the order of program.positions
>>> best = program.decode(p)                    # what it answers satisfies the program; best.status says what is proved
>>> add = as2.Module("addition.lp", inputs="digit(*", output="total(_)")

docs/PYTHON.md has a page of examples.
"""
from ._built_for import version as __version__
from ._library import ops as _ops  # noqa: F401 (loads the library, or says why it cannot)
from ._models import Network, load, mnist, solve
from ._program import Program, compile  # noqa: A004
from ._results import (Approximation, Change, Conflict, Decoded, DecodedBatch, Family, Group, Message, Model, Position, Solution,
                       UniqueReading, Verdict, Verdicts, Violation)
from ._tensor import Module, SoftTp
from .errors import CircuitTooLarge, EnvironmentError, InputError  # noqa: A004

__all__ = ["Approximation", "Change", "CircuitTooLarge", "Conflict", "Decoded", "DecodedBatch", "EnvironmentError", "Family", "Group",
           "InputError", "Message", "Model", "Module", "Network", "Position", "Program", "SoftTp", "Solution",
           "UniqueReading", "Verdict", "Verdicts", "Violation", "compile", "load", "mnist", "solve"]
