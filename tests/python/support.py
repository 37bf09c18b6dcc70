"""What the tests share: the source folder, the command line, beliefs."""
import json
import os
import pathlib
import subprocess

import torch

SOURCE = pathlib.Path(os.environ["AS2_TEST_SOURCE"])
PROGRAMS = sorted((SOURCE / "programs").glob("*.lp"))


def command_line(*arguments, beliefs=None):
    """One document of `as2 … --json`."""
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
