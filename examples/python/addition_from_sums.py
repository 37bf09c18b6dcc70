"""Learns to read digits from sums alone: pairs of pictures are labelled with their total, no digit ever is.

    ./as2 python examples/python/addition_from_sums.py        # about a minute per 1,000 steps on two cores
"""
import sys

import as2
import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
images, digits = as2.mnist("train")
cnn = nn.Sequential(nn.Conv2d(1, 16, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(16, 32, 5), nn.MaxPool2d(2), nn.ReLU(),
                    nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10))
add = as2.Module("addition.lp", inputs="digit(*", output="total(_)")  # exact, batched, differentiable
optimiser = torch.optim.Adam(cnn.parameters(), 1e-3)
for step in range(steps):
    pair = torch.randint(len(images), (64, 2))
    total = digits[pair].sum(1)                                           # all that training is told
    p = cnn(images[pair].view(-1, 1, 28, 28)).softmax(-1).view(-1, 2, 10)
    loss = -add.log_probability(p, total).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
images, digits = as2.mnist("test")
with torch.no_grad():
    accuracy = (cnn(images[:2000].unsqueeze(1)).argmax(-1) == digits[:2000]).float().mean()
print(f"digits read right, though no digit was ever told: {100 * accuracy:.1f} %")
