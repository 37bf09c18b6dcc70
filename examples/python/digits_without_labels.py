"""Sudoku digits without digit labels: the pictures are clues, and what is known is what stands in the other cells.

No picture is ever labelled. The rules say what a clue can be, given the rest of its board: the loss is the exact
probability that the clues, as the network reads them, and the known cells are a board that obeys the rules.

    ./as2 python examples/python/digits_without_labels.py     # about a minute per 300 steps on two cores
"""
import sys

import as2
import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
program = as2.compile("sudoku.lp", b=2)
boards = program.symbols_of(program.sample(None, 200))                                # [200, 16], solved
images, digits = as2.mnist("train")
of_digit = [(digits == d).nonzero().flatten() for d in range(1, 5)]
cnn = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 5, stride=2), nn.ReLU(), nn.Flatten(),
                    nn.Linear(512, 4))
optimiser = torch.optim.Adam(cnn.parameters(), 2e-3)
for step in range(steps):
    board = boards[torch.randint(len(boards), (16,))]                                 # [16 boards, 16 cells]
    clue = torch.rand(16, 16) < 0.4
    shown = torch.stack([of_digit[d][torch.randint(len(of_digit[d]), ())] for d in board[clue].tolist()])
    p = nn.functional.one_hot(board, 4).float()                                       # the cells that are known
    p[clue] = cnn(images[shown].unsqueeze(1)).softmax(-1)                             # the clues, as they are read
    loss = -program.log_probability(p).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
images, digits = as2.mnist("test")
seen = (digits > 0) & (digits < 5)
with torch.no_grad():
    accuracy = (cnn(images[seen][:2000].unsqueeze(1)).argmax(-1) + 1 == digits[seen][:2000]).float().mean()
print(f"digits read right: {100 * accuracy:.1f} %")
