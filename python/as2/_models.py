"""Trained weights as modules, and boards in pictures."""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any, List, Optional, Tuple, Union

import torch

from ._library import call, interruptible, ops
from ._program import Path, Program
from ._results import Solution, _changes, _conflicts
from .errors import InputError, input_error

_FAINTEST = 0.125  # ink, as `as2 predict` sees it


def _weights(name: Path) -> str:
    text = os.fspath(name)
    if text.endswith(".safetensors"):
        return text
    shipped = pathlib.Path(call(ops.shipped_file, "models"))
    path = shipped / f"{text}.safetensors"
    if path.exists():
        return str(path)
    try:
        return call(ops.default_model, text)
    except InputError:
        names = ", ".join(sorted(other.stem for other in shipped.glob("*.safetensors")))
        raise input_error(f"no weights named '{text}' ship, and none for a task of that name",
                          f"these do: {names}; or give the path of a .safetensors file") from None


def _program_of(card: dict) -> Program:
    constants = dict(card["constants"])
    compiled = card["compiled"]
    use_compiled = bool(compiled) and os.path.exists(compiled)
    return Program([compiled if use_compiled else card["file"]], "", "", {} if use_compiled else constants,
                   source=[card["file"]])


def load(weights: Path) -> "Network":
    """Trained weights: the name of shipped ones ("sudoku-best"), a task ("sudoku": those the command line would take), or
    a .safetensors file with its card beside it."""
    return Network(_weights(weights))


class Network(torch.nn.Module):
    """Perception and reasoner of a weights file. Parameters are those of the network itself: train them, move them
    with .to(), save their state_dict() as of any module. It starts in evaluation mode.

    program: the as2.Program the weights were trained for.
    pictured: names of the positions that have pictures, in the order of the pictures.
    """

    def __init__(self, weights: str) -> None:
        super().__init__()
        self.weights = weights
        card = json.loads(call(ops.card, weights))
        self.task: str = card["task"]
        self.preset: str = card["preset"]
        self.program = _program_of(card)
        self._native = call(ops.load, weights, self.program._native)
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

    def _holder(self, name: str) -> torch.nn.Module:
        """The submodule that has the tensor, so that state_dict() names it as the weights file does."""
        module: torch.nn.Module = self
        for part in name.split(".")[:-1]:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]  # type: ignore[assignment]
        return module

    def _apply(self, fn: Any, *rest: Any) -> "Network":
        super()._apply(fn, *rest)
        parameter = next(self.parameters(), None)
        if parameter is not None:
            call(self._native.to, str(parameter.device))
        self._share()
        return self

    def train(self, mode: bool = True) -> "Network":
        super().train(mode)
        self._native.train(mode)
        return self

    def forward(self, pictures: torch.Tensor, given: Optional[torch.Tensor] = None) -> torch.Tensor:
        """Beliefs [batch, positions, symbols] of pictures [batch, pictured, 28, 28], ink 1 and paper 0.

        given: bool [batch, pictured], which positions have a picture; by default those whose picture has ink, an eighth of
          full ink or more somewhere.
        """
        return self.see(pictures, given)[1]

    def see(self, pictures: torch.Tensor, given: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
        """The evidence, what perception alone makes of the pictures (uniform without one), and the beliefs of
        forward(): two tensors [batch, positions, symbols]. Decode the evidence; the beliefs are the network's own
        answer."""
        if given is None:
            given = pictures.flatten(2).amax(-1) > _FAINTEST if pictures.dim() == 4 else torch.zeros(0, dtype=torch.bool)
        return call(self._native.forward, pictures, given)

    def __reduce__(self) -> Any:
        return _restored, (self.weights, {name: tensor.detach().cpu() for name, tensor in self.state_dict().items()})

    def extra_repr(self) -> str:
        return f"{self.task}, preset {self.preset}, {sum(p.numel() for p in self.parameters())} parameters"


def _restored(weights: str, state: dict) -> Network:
    network = Network(weights)
    network.load_state_dict(state)
    return network


def solve(images: Union[Path, List[Path]], model: Optional[Path] = None, box: int = 3,
          threads: int = 0) -> Union[Solution, List[Solution]]:
    """Reads and solves boards in pictures (PNG, JPEG, BMP or PGM): `as2.solve("board.jpg").show()`.

    model: weights, shipped or your own; box: the side of a box, 3 for 9 × 9 boards, 2 for 4 × 4.
    Raises as2.InputError where no board is found. One that has no completion has the status "unsatisfiable".
    """
    single = isinstance(images, (str, os.PathLike))
    files = [os.fspath(image) for image in ([images] if single else images)]
    weights = "" if model is None else _weights(model)
    rows = json.loads(interruptible(ops.solve, files, weights, box, threads))
    card = json.loads(call(ops.card, weights or _weights("sudoku-best")))
    program = _program_of(card) if box == 3 else Program([card["file"]], "", "", {"b": str(box)})
    solutions = []
    for file, row in zip(files, rows):
        symbols = row["assignment"]
        names = program.positions
        solutions.append(Solution(
            file=file, status=row["status"],
            assignment=None if symbols is None else program.assignment(torch.tensor(symbols)),
            read={names[i].name: names[i].symbols[s] for i, s in row["read"]},
            confidence={p.name: c for p, c in zip(names, row["confidence"])},
            changed=_changes(program, row["changed"]), conflicts=_conflicts(program, row["conflicts"]),
            unique=row["unique"], margin=row["margin"]))
    return solutions[0] if single else solutions


def mnist(split: str = "train", folder: Optional[Path] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    """MNIST, found or fetched as `as2 data mnist` does it: pictures [60000 or 10000, 28, 28] float32 in 0 … 1, ink 1
    and paper 0, and labels int64."""
    if split not in ("train", "test"):
        raise input_error(f"split is '{split}', expected 'train' or 'test'")
    pictures, labels = interruptible(ops.mnist, "" if folder is None else os.fspath(folder), split == "train")
    return pictures.float() / 255, labels
