"""Shipped weights as a module: a board of pictures in, beliefs out, and a solution that satisfies every rule.

    ./as2 python examples/python/shipped_weights.py examples/board.png
"""
import sys

import as2
import torch

model = as2.load("sudoku-best")
print(model)
# Pictures of a board's cells, [batch, 81, 28, 28], 0 where there is none. Here one drawn from MNIST.
puzzle = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
images, digits = as2.mnist("test")
cells = torch.zeros(1, 81, 28, 28)
for k, symbol in enumerate(puzzle):
    if symbol != ".":
        cells[0, k] = images[(digits == int(symbol)).nonzero()[k]]
with torch.no_grad():
    evidence, beliefs = model.see(cells)
best = model.program.decode(evidence)[0]
alone = beliefs[0].argmax(-1)
print(f"the network alone has {int((alone == best.symbols[0]).sum())} of 81 cells as the decoder")
print("".join(best.assignment.values()))
print("valid:", model.program.verify(best).valid)
for path in sys.argv[1:]:
    as2.solve(path).show()
