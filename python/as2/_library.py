"""Loads the shared library beside this file and turns its errors into exceptions of `as2.errors`."""
from __future__ import annotations

import atexit
import importlib
import json
import pathlib
import threading
from typing import Any, Callable

import torch

from . import _built_for, errors

_MARK = "\nas2-error "  # begins the last line of an error of ours: library/errors.h


def _load() -> None:
    library = pathlib.Path(__file__).with_name("libas2_python.so")
    wanted, found = _built_for.torch.split(".")[:2], torch.__version__.split(".")[:2]
    if wanted != found:
        raise errors.EnvironmentError(
            f"error: this as2 was built for PyTorch {_built_for.torch}, and this Python has {torch.__version__}"
            "\nnote: build it again with this Python: pip install --no-build-isolation .")
    try:
        torch.ops.load_library(str(library))
    except OSError as error:
        raise errors.EnvironmentError(  # PyTorch 2.x gives the reason as the error's cause alone
            f"{library}: error: the library cannot be loaded: {error.__cause__ or error}"
            "\nnote: ./as2 python builds it; another PyTorch needs another build", str(library)) from error


_load()
ops = torch.ops.as2
classes = torch.classes.as2
atexit.register(ops.leave)  # a thread that is still inside the library must not come back to a Python that is gone


def _translated(error: RuntimeError) -> BaseException:
    what, mark, rest = str(error).rpartition(_MARK)
    if not mark:
        return error
    about, _ = json.JSONDecoder().raw_decode(rest)
    if about["kind"] == "MemoryError":
        return MemoryError(what)
    if about["kind"] == "ContractError":
        return RuntimeError(what)
    return getattr(errors, about["kind"])(what, about["file"], about["line"], about["column"])


def _refuse_what_is_no_text(arguments: Any) -> None:
    """PyTorch's own error of a text that UTF-8 cannot hold, such as a file's name that is not UTF-8, does not say so."""
    for value in arguments:
        if isinstance(value, (list, tuple)):
            _refuse_what_is_no_text(value)
        elif isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise errors.input_error(f"{ascii(value)} cannot be written in UTF-8",
                                         "a file whose name is not UTF-8 has to be renamed") from None


def _tracing() -> Callable[[], bool]:
    """PyTorch's own word on whether torch.compile is tracing: of torch.compiler where it has one, else of torch._dynamo (2.0)."""
    if not hasattr(torch, "compile"):
        return lambda: False
    found = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return found or importlib.import_module("torch._dynamo").is_compiling


# torch.compile traces an operator, not the handling of its errors: those then come as RuntimeError, with their text.
_compiling = _tracing()


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments), with the library's errors as ours."""
    if _compiling():
        return function(*arguments)
    try:
        return function(*arguments)
    except RuntimeError as error:
        _refuse_what_is_no_text(arguments)
        raise _translated(error) from None


def operator(name: str) -> Callable[..., torch.Tensor]:
    """The operator on beliefs of that name, with the library's errors as ours, in a way that torch.compile can trace."""
    traced = getattr(ops, name)
    # PyTorch's binding itself, without its layers of Python: beside a small circuit each of them would show.
    direct = getattr(traced.default, "_op", traced)

    def call_direct(beliefs: torch.Tensor, number: int, argument: int) -> torch.Tensor:
        try:
            return direct(beliefs, number, argument)
        except RuntimeError as error:
            require_tensor(beliefs)
            raise _translated(error) from None

    def operate(beliefs: torch.Tensor, number: int, argument: int = 0) -> torch.Tensor:
        return traced(beliefs, number, argument) if _compiling() else call_direct(beliefs, number, argument)

    return operate


def require_tensor(beliefs: Any) -> None:
    if not isinstance(beliefs, torch.Tensor):
        raise errors.input_error(f"beliefs are a {type(beliefs).__name__}, expected a tensor") from None


_PATIENCE = 2  # seconds for what is interrupted to end: it looks often, but not everywhere


def interruptible(function: Callable[..., Any], *arguments: Any) -> Any:
    """call(function, *arguments, stop) for what may take long: Ctrl-C ends the work, with whatever program it had started.

    Python handles signals in its main thread only, and only between two of its own instructions; so the work is done
    in another thread, and the main one waits where a signal can reach it.
    """
    stop = classes.Stop()
    if threading.current_thread() is not threading.main_thread():
        return call(function, *arguments, stop)
    outcome: list = []
    done = threading.Event()  # an interrupted join() would take the thread for one that has ended (before Python 3.13)

    def work() -> None:
        try:
            outcome.append((call(function, *arguments, stop), None))
        except BaseException as error:  # noqa: BLE001 (raised again below, in the thread that asked)
            outcome.append((None, error))
        done.set()

    thread = threading.Thread(target=work, name="as2", daemon=True)
    try:
        thread.start()
        done.wait()
    except BaseException:
        stop.ask()
        if thread.ident is not None:  # else the system gave us none
            done.wait(_PATIENCE)
        raise
    result, error = outcome[0]
    if error is not None:
        raise error.with_traceback(None)
    return result
