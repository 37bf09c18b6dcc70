"""What goes wrong, as the command line tells it: what was found, where, and what to do."""
from __future__ import annotations

import sys
import warnings
from typing import Optional


class _Located(Exception):
    """`str(error)` is the whole message, clingo-style; the parts are attributes.

    file, line, column: where in the user's file, None where that is not known.
    message: what is wrong, without place and remedy.
    remedy: what to do about it; empty where nothing is known.
    """

    def __init__(self, text: str, file: Optional[str] = None, line: Optional[int] = None,
                 column: Optional[int] = None) -> None:
        super().__init__(text)
        self.file = file or None
        self.line = line or None
        self.column = column or None
        first, *notes = text.split("\nnote: ")
        self.message = first.split("error: ", 1)[-1]
        self.remedy = "; ".join(notes)

    def __reduce__(self):
        return type(self), (str(self), self.file, self.line, self.column)


class InputError(_Located, ValueError):
    """The program, the beliefs or an argument is at fault."""


class CircuitTooLarge(InputError):
    """The exact probability does not fit its budget of time or memory."""


class EnvironmentError(_Located, RuntimeError):  # noqa: A001 (the name it has everywhere in AS2)
    """Neither the input nor AS2 is at fault, but what it runs on: no gringo, no disk, another PyTorch."""


def input_error(message: str, remedy: str = "") -> InputError:
    return InputError(f"error: {message}" + (f"\nnote: {remedy}" if remedy else ""))


def warn(message: str) -> None:
    """A warning at the line outside this package that is to blame."""
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
