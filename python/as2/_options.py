"""Numbers that users give as options, checked before they are cut down to the types of C++."""
from __future__ import annotations

import math
import operator
from typing import Any, List, Sequence, Union

from .errors import input_error

Texts = Union[str, Sequence[str]]


def whole(name: str, value: Any, least: int = 0, most: int = 2 ** 31 - 1) -> int:
    """A whole number from `least` to `most`, or an InputError that names the option."""
    try:
        number = value if isinstance(value, int) else operator.index(value)
    except TypeError:
        raise input_error(f"{name} is {value!r}, expected a whole number") from None
    if number < least:
        raise input_error(f"{name} is {number}, expected at least {least}")
    if number > most:
        raise input_error(f"{name} is {number}, expected at most {most}")
    return number


def real(name: str, value: Any, least: float = 0, most: float = math.inf, remedy: str = "") -> float:
    """A finite number from `least` to `most`."""
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise input_error(f"{name} is {value!r}, expected a finite number", remedy)
    if not least <= number <= most:
        raise input_error(f"{name} is {number:g}, expected {'at least' if number < least else 'at most'} "
                          f"{least if number < least else most:g}", remedy)
    return number


def seconds(name: str, value: Any, least: float = 0, remedy: str = "") -> float:
    """A time, at most 32 years, as on the command line."""
    return real(name, value, least, 1e9, remedy)


def mebibytes(name: str, value: Any, least: float = 0) -> float:
    """An amount of memory, at most a petabyte, as on the command line."""
    return real(name, value, least, 1e9)


def is_several(given: Any) -> bool:
    """A list or the like, not one text."""
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes))


def several(given: Any) -> List[Any]:
    """What stands in a list or the like; one thing as a list of one."""
    return list(given) if is_several(given) else [given]


def texts(name: str, given: Any) -> List[str]:
    """One text, or several, as a list."""
    listed = several(given)
    if not all(isinstance(text, str) for text in listed):
        raise input_error(f"{name} is {given!r}, expected a text or a list of texts")
    return listed
