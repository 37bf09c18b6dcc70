"""Trained weights as modules, and boards in pictures."""
from __future__ import annotations

import json
import math
import os
import pathlib
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from ._library import call, interruptible, ops
from ._options import is_several, whole
from ._program import Path, Program
from ._results import Solution, UniqueReading, _changes, _conflicts
from .errors import InputError, input_error, warn


def _weights(name: Path) -> str:
    if not isinstance(name, (str, os.PathLike)):
        raise input_error(f"weights are given as {name!r}, expected a name or a path")
    text = os.fspath(name)
    if os.path.isdir(text):
        return os.path.abspath(os.path.join(text, "model.safetensors"))
    if text.endswith(".safetensors") or "/" in text:
        return os.path.abspath(text)
    shipped = pathlib.Path(call(ops.shipped_file, "models"))
    path = shipped / f"{text}.safetensors"
    if path.exists():
        return str(path)
    try:
        return call(ops.default_model, text)
    except InputError:
        names = ", ".join(sorted(other.stem for other in shipped.glob("*.safetensors")))
        raise input_error(f"no weights named '{text}' ship, and none for a task of that name",
                          f"these do: {names}; or give the path of a run folder or of a .safetensors file") from None


def _program_of(source: dict) -> Program:
    """The program that a card names."""
    compiled, constants = source["compiled"], dict(source["constants"])
    if compiled and os.path.exists(compiled):
        return Program([compiled], "", "", constants, source=[source["file"]])
    return Program([source["file"]], "", "", constants)


def load(weights: Path) -> "Network":
    """Trained weights: the name of shipped ones ("sudoku-best"), a task ("sudoku": those the command line would take), the
    folder of a run, or a .safetensors file with its card beside it."""
    return Network(_weights(weights))


class Network(torch.nn.Module):
    """Perception and reasoner of a weights file. Parameters are those of the network itself: train them, move them
    with .to(), copy and pickle it, save its state_dict(), as with any module. A pickle names the weights file, which
    must still be there to load it. It starts in evaluation mode. Submodules only hold parameters, under the names of the
    weights file: they compute nothing by themselves, and replacing one changes nothing.

    program: the as2.Program the weights were trained for.
    pictured: names of the positions that have pictures, in the order of the pictures.
    """

    if TYPE_CHECKING:  # nn.Module says Any
        def __call__(self, pictures: torch.Tensor, given: Optional[torch.Tensor] = None) -> torch.Tensor: ...

    def __init__(self, weights: str) -> None:
        super().__init__()
        self.weights = weights
        card = json.loads(call(ops.card, weights))
        self.task: str = card["task"]
        self.preset: str = card["preset"]
        self.program = _program_of(card["program"])
        self._native: Any = call(ops.load, weights, self.program._native)
        self.pictured: List[str] = [self.program.positions[i].name for i in self._native.pictured()]
        self._share()
        self.eval()

    def _share(self) -> None:
        # The very tensors of the network: what an optimiser or .to() does to them, it does to the network.
        for name, tensor in zip(*self._native.parameters()):
            tensor._is_param = True
            self._holder(name).register_parameter(name.rpartition(".")[2], tensor)
        for name, tensor in zip(*self._native.buffers()):
            self._holder(name).register_buffer(name.rpartition(".")[2], tensor)

    def __getstate__(self) -> Dict[str, Any]:
        state = self.__dict__.copy()
        del state["_native"]
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._native = call(ops.load, self.weights, self.program._native)
        copied = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        for names, tensors in (self._native.parameters(), self._native.buffers()):
            for name, tensor in zip(names, tensors):
                tensor.data = copied[name].data
                tensor.requires_grad_(copied[name].requires_grad)
                tensor.grad = copied[name].grad
        self._follow()
        self._native.train(self.training)

    def __copy__(self) -> "Network":
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)  # with the same network, as a shallow copy of any module has the same tensors
        return copied

    def _holder(self, name: str) -> torch.nn.Module:
        """The submodule that has the tensor, so that state_dict() names it as the weights file does."""
        module: torch.nn.Module = self
        for part in name.split(".")[:-1]:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]  # type: ignore[assignment]
        return module

    def _apply(self, fn: Any, *rest: Any, **more: Any) -> "Network":
        super()._apply(fn, *rest, **more)
        self._follow()
        return self

    def _follow(self) -> None:
        """The network goes where its parameters are."""
        parameter = next(self.parameters(), None)
        if parameter is not None:
            call(self._native.to, str(parameter.device))
        self._share()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> "torch.nn.modules.module._IncompatibleKeys":
        """As any module's, but for `assign`: the network computes with its own tensors, so it copies what it is given."""
        if assign:
            raise input_error("assign=True would put tensors in place of the network's own, which it computes with",
                              "leave assign out: values are copied")
        return super().load_state_dict(state_dict, strict)  # type: ignore[arg-type]

    def train(self, mode: bool = True) -> "Network":
        """Training mode, or evaluation mode where `mode` is False."""
        super().train(mode)
        self._native.train(mode)
        return self

    def forward(self, pictures: torch.Tensor, given: Optional[torch.Tensor] = None) -> torch.Tensor:
        """Beliefs [batch, positions, symbols] of pictures [batch, pictured, 28, 28], ink 1 and paper 0.

        given: bool [batch, pictured], which positions have a picture; by default those whose picture has ink, an eighth of
          full ink or more somewhere.

        Computed in float32, as the weights were trained, or in the precision that autocast asks for. The beliefs are float32,
        or float64 where the pictures are.
        """
        return self.see(pictures, given)[1]

    def see(self, pictures: torch.Tensor, given: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
        """The evidence, what perception alone makes of the pictures (uniform without one), and the beliefs of
        forward(): two tensors [batch, positions, symbols]. Decode the evidence; the beliefs are the network's own
        answer."""
        if not isinstance(pictures, torch.Tensor):
            raise input_error(f"pictures are a {type(pictures).__name__}, expected a tensor")
        if pictures.device.type == "cpu" and pictures.is_floating_point() and pictures.numel() > 0:
            most = float(pictures.detach().amax())
            if 2 < most < math.inf:
                warn(f"pictures have values up to {most:g}, expected ink 1 and paper 0: divide by 255")
        return call(self._native.forward, pictures, given)

    def extra_repr(self) -> str:
        return f"{self.task}, preset {self.preset}, {sum(p.numel() for p in self.parameters())} parameters"


def _gray(image: Any) -> torch.Tensor:
    """The pixels of a picture in memory, [height, width] uint8."""
    if hasattr(image, "convert") and hasattr(image, "tobytes"):  # Pillow's
        return torch.frombuffer(bytearray(image.convert("L").tobytes()), dtype=torch.uint8).view(image.size[::-1])
    expected = "a path, an image of Pillow, or an array [height, width] or [height, width, 3] of 0 … 255, or of floats in 0 … 1"
    try:
        pixels = torch.as_tensor(image.copy() if hasattr(image, "__array_interface__") else image).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise input_error(f"a picture is a {type(image).__name__}", f"expected {expected}") from None
    fits = pixels.numel() > 0 and (pixels.dim() == 2 or (pixels.dim() == 3 and pixels.shape[2] == 3))
    if not fits or not (pixels.dtype == torch.uint8 or pixels.is_floating_point()):
        raise input_error(f"a picture is {pixels.dtype} {list(pixels.shape)}", f"expected {expected}")
    if pixels.is_floating_point():
        if not bool(((pixels >= 0) & (pixels <= 1)).all()):
            raise input_error("a picture of floats has pixels outside 0 … 1", "divide by 255, or give it as uint8")
        pixels = pixels * 255
    if pixels.dim() == 3:
        pixels = pixels.float() @ torch.tensor([0.299, 0.587, 0.114])
    return pixels.round().to(torch.uint8) if pixels.is_floating_point() else pixels


def solve(images: Union[Path, Any, Sequence[Any]], model: Optional[Path] = None, box: Union[int, str] = 0,
          threads: int = 0, *, passes: int = 0, restarts: int = 1) -> Union[Solution, List[Solution]]:
    """Reads and solves boards in pictures: `as2.solve("board.jpg").show()`.

    images: a file (PNG, JPEG, BMP or PGM), an image of Pillow, or an array or tensor [height, width] or [height, width, 3],
      uint8 or floats in 0 … 1, black 0; or a list of them.
    model: weights, shipped or your own; box: the side of a Sudoku's box, 2 for 4 × 4 boards, or its rows and columns,
      "2x3" for 6 × 6; 0: the board is the one of the model's card, 9 × 9 by default. threads: 0: all cores.
    passes: the most passes of the reasoner, 0: as its card says; restarts: the most trajectories of it, from different
      noise.
    Raises as2.InputError where no board is found. One that has no completion has the status "unsatisfiable".
    """
    shape = box if isinstance(box, str) else str(whole("box", box, most=4) or "")
    threads = whole("threads", threads)
    passes, restarts = whole("passes", passes, most=10 ** 6), whole("restarts", restarts, 1, 10 ** 6)
    single = not is_several(images)
    files, pixels = [], []
    for number, image in enumerate([images] if single else images):
        is_file = isinstance(image, (str, os.PathLike))
        files.append(os.fspath(image) if is_file else f"picture {number}")
        pixels.append(torch.empty(0, 0, dtype=torch.uint8) if is_file else _gray(image))
    weights = "" if model is None else _weights(model)
    found = json.loads(interruptible(ops.solve, files, pixels, weights, shape, threads, passes, restarts))
    program = _program_of(found["program"])
    solutions = []
    for file, row in zip(files, found["boards"]):
        symbols = row["assignment"]
        names = program.positions
        solutions.append(Solution(
            file=file, status=row["status"],
            assignment=None if symbols is None else program._named(symbols),
            read={names[i].name: names[i].symbols[s] for i, s in row["read"]},
            confidence={p.name: c for p, c in zip(names, row["confidence"])},
            changed=_changes(program, row["changed"]), conflicts=_conflicts(program, row["conflicts"]),
            unique=row["unique"], margin=row["margin"],
            reread=None if row["reread"] is None else UniqueReading(**row["reread"]), timed_out=row["timed_out"],
            box=tuple(found["box"])))
    return solutions[0] if single else solutions


def mnist(split: str = "train", folder: Optional[Path] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    """MNIST, found or fetched as `as2 data mnist` does it: pictures [60000 or 10000, 28, 28] float32 in 0 … 1, ink 1
    and paper 0, and labels int64."""
    if split not in ("train", "test"):
        raise input_error(f"split is '{split}', expected 'train' or 'test'")
    pictures, labels = interruptible(ops.mnist, "" if folder is None else os.fspath(folder), split == "train")
    return pictures.float() / 255, labels
