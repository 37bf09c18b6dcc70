"""Several views of a picture at once, or several networks: what does averaging give?

    ./as2 python bench/views.py [FOLDER OF MNIST'S IDX FILES]

Prints accuracy and negative log-likelihood on the 5,000 training digits kept aside: of models/digits-best over small
shifts, turns and sizes, and of its mean with the perceptions of the models for addition.
"""

import math
import os
import sys

import as2
import numpy
import torch

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.expanduser("~/.cache/as2")
KEPT_ASIDE = 5000


def read(name, header):
    with open(os.path.join(folder, name), "rb") as file:
        return torch.tensor(numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy())


pictures = read("train-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)[-KEPT_ASIDE:].float() / 255
labels = read("train-labels-idx1-ubyte", 8)[-KEPT_ASIDE:].long()
model = as2.load("digits-best")


def seen(angle=0.0, size=1.0, right=0, down=0, shear=0.0):
    """log p of each digit when every picture is moved so."""
    cosine, sine = math.cos(angle) / size, math.sin(angle) / size
    move = torch.tensor([[cosine, shear / size - sine, right / 14], [sine, cosine, down / 14]])
    found = []
    with torch.no_grad():
        for some in pictures.split(500):
            grid = torch.nn.functional.affine_grid(move.expand(len(some), 2, 3), some.shape, align_corners=False)
            moved = torch.nn.functional.grid_sample(some, grid, align_corners=False)
            found.append(model(moved).reshape(len(some), -1).clamp_min(1e-12).log())
    return torch.cat(found)


plain = [seen()]
views = {
    "one": [],
    "and shifted by a pixel": [seen(right=x, down=y) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))],
    "and turned by 6 degrees": [seen(angle=a) for a in (0.1, -0.1)],
    "and 7 % larger and smaller": [seen(size=s) for s in (0.93, 1.07)],
    "and sheared": [seen(shear=s) for s in (0.12, -0.12)],
}
views["all of these"] = [view for group in views.values() for view in group]
for name, group in views.items():
    score = torch.stack(plain + group).mean(0).log_softmax(-1)
    right = (score.argmax(-1) == labels).sum().item()
    loss = torch.nn.functional.nll_loss(score, labels).item()
    print(f"{name:28} {1 + len(group):3} views   {100 * right / KEPT_ASIDE:.2f} %   {loss:.4f} nats", flush=True)


def read_by(name, pictures_each):
    """p of each digit by the perception of a model that takes so many pictures at once; its other positions come first."""
    own = as2.load(name)
    with torch.no_grad():
        beliefs = torch.cat([own(some) for some in pictures.view(-1, pictures_each, 28, 28).split(100)])
    return beliefs[:, -pictures_each:, :10].reshape(-1, 10)


networks = [plain[0].exp()] + [read_by(f"addition-n{n}-{preset}", n) for preset in ("best", "sum-only") for n in (2, 4, 8)]
mean = torch.stack(networks).mean(0)
for name, found in (*((f"network {k + 1} alone", network) for k, network in enumerate(networks)), ("their mean", mean)):
    right = (found.argmax(-1) == labels).sum().item()
    loss = torch.nn.functional.nll_loss(found.clamp_min(1e-12).log(), labels).item()
    print(f"{name:28} {100 * right / KEPT_ASIDE:.2f} %   {loss:.4f} nats", flush=True)
