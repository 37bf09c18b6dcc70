"""What the tests share: the source folder, the command line, beliefs, the operators."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import as2
import torch

SOURCE = pathlib.Path(os.environ["AS2_TEST_SOURCE"])
PROGRAMS = sorted((SOURCE / "programs").glob("*.lp"))
# What needs gringo is left out where there is none: by run.py as soon as it fails for that reason; where it runs a process of
# its own by hand. In CI it fails.
WITHOUT_GRINGO = not shutil.which(os.environ.get("AS2_GRINGO") or "gringo") and os.environ.get("CI", "").lower() in ("", "0", "false")
needs_gringo = unittest.skipIf(WITHOUT_GRINGO, "needs gringo")


def command_line(*arguments, beliefs=None):
    """One document of `as2 … --json`."""
    if "AS2_BINARY" not in os.environ:
        raise unittest.SkipTest("the command line is not built")
    beliefs = None if beliefs is None else json.dumps(beliefs)
    words = [os.environ["AS2_BINARY"], *map(str, arguments), "--json"] + (["--beliefs", "-"] if beliefs else [])
    done = subprocess.run(words, input=beliefs, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def random_beliefs(program, seed=0, batch=None):
    """Distributions [positions, symbols], or [batch, positions, symbols], none of whose entries is 0; float64."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(program.positions), program.symbols)
    p = torch.rand(shape if batch is None else (batch, *shape), generator=generator, dtype=torch.float64) + 0.05
    p = torch.where(program.mask, p, torch.zeros((), dtype=torch.float64))
    return p / p.sum(-1, keepdim=True)


def misread_beliefs(program, seed=0):
    """The same, most of it around an answer set, one position in eight around another symbol: as perception has it.
    The best answer to noise alone would take the decoder minutes where a program has many positions."""
    generator = torch.Generator().manual_seed(seed)
    answer = program.decode(program.uniform, explain=False).symbols[0]
    elsewhere = torch.rand(len(answer), generator=generator) < 0.125
    read = torch.where(elsewhere, (answer + 1) % program.domains, answer)
    return 0.3 * random_beliefs(program, seed) + 0.7 * torch.nn.functional.one_hot(read, program.symbols)


def as_dict(program, p):
    """{position: {symbol: p}} of [positions, symbols]."""
    return {position.name: {symbol: float(p[position.index, s]) for s, symbol in enumerate(position.symbols)}
            for position in program.positions}


def as_tensor(program, document):
    """The inverse, 0 in the padding."""
    values = torch.zeros(len(program.positions), program.symbols, dtype=torch.float64)
    for position in program.positions:
        for s, symbol in enumerate(position.symbols):
            values[position.index, s] = document[position.name][symbol]
    return values


class Operators:
    """Every operator on beliefs, on one device, with programs that need no gringo.

    calls: {name: (operator, beliefs, number, argument)}; those with a gradient have a NAME_backward.
    """

    def __init__(self, device="cpu", dtype=torch.float64):
        self.program = as2.compile(SOURCE / "programs" / "scheduling.as2c")  # one with objectives
        self.tp = self.program.soft_tp()
        addition = as2.compile(SOURCE / "programs" / "addition.as2c")
        self.add = as2.Module(addition, "digit(*", "total(_)")  # every symbol of a position, at once
        self.mixed = as2.Module(addition, "digit(*", ["total(3)", "digit(1,2)"])  # one evaluation each
        self.p = random_beliefs(self.program, 1, batch=3).to(device, dtype)
        self.digits = torch.rand(5, 2, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).softmax(-1).to(device, dtype)
        number = self.program._native.number()
        self.calls = {name: (getattr(torch.ops.as2, name).default, self.p, number, argument) for name, argument in (
            ("soft_tp_loss", 0), ("soft_tp_image", 0), ("soft_tp_residual", 0), ("soft_tp_leave_one_out", 0),
            ("soft_tp_max_residual", 0), ("soft_tp_refine", 2), ("soft_tp_expected_cost", 0))}
        for name in ("distribution", "log_weights", "marginals"):
            self.calls[name] = (getattr(torch.ops.as2, name).default, self.digits, self.add._number, 0)

    def backward(self, name):
        """(NAME_backward, gradient, beliefs, number, argument), or None."""
        if not hasattr(torch.ops.as2, name + "_backward"):
            return None
        operator, p, number, argument = self.calls[name]
        gradient = torch.rand_like(operator(p, number, argument))
        return getattr(torch.ops.as2, name + "_backward").default, gradient, p, number, argument
