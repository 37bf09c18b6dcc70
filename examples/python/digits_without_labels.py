"""Sudoku digits without digit labels: all that training knows is that the boards in the pictures are solved right.

The rules do not say which digit is which, so a handful of clues per board is told; the rest is learned from the exact
probability of what the rules say about 4 × 4 boards.

    ./as2 python examples/python/digits_without_labels.py     # about a minute per 300 steps on two cores
"""
import sys

import as2
import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
program = as2.compile("sudoku.lp", b=2)
answers = torch.stack([program.symbols_of(answer) for answer in program.sample(None, 200)])   # solved boards
images, digits = as2.mnist("train")
of_digit = [(digits == d).nonzero().flatten() for d in range(1, 5)]
cnn = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 5, stride=2), nn.ReLU(), nn.Flatten(),
                    nn.Linear(512, 4))
optimiser = torch.optim.Adam(cnn.parameters(), 1e-3)
for step in range(steps):
    board = answers[torch.randint(len(answers), (16,))]                                       # [16, 16]
    chosen = torch.stack([of_digit[d][torch.randint(len(of_digit[d]), ())] for d in board.flatten().tolist()])
    p = cnn(images[chosen].unsqueeze(1)).softmax(-1).view(16, 16, 4)
    told = torch.rand(16, 16) < 0.15
    clues = -p.gather(2, board.unsqueeze(-1)).squeeze(-1)[told].log().sum() / 16
    loss = clues - program.log_probability(p).mean()                      # P(the board obeys the rules)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
images, digits = as2.mnist("test")
seen = (digits > 0) & (digits < 5)
with torch.no_grad():
    accuracy = (cnn(images[seen][:2000].unsqueeze(1)).argmax(-1) + 1 == digits[seen][:2000]).float().mean()
print(f"digits read right: {100 * accuracy:.1f} %")
