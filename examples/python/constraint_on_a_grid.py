"""A rule as a loss: a grid of labels, as in segmentation, with a rule of one's own about neighbours.

Sky is never below ground, and water never lies above sky. A noisy predictor is pulled towards labellings that obey;
decoding then gives one that does, for certain.

    ./as2 python examples/python/constraint_on_a_grid.py
"""
import as2
import torch

program = as2.compile(text="""
    { label(R,C,(sky;ground;water)) } = 1 :- R=1..6, C=1..8.
    :- label(R,C,ground), label(R+1,C,sky).  % no sky below ground
    :- label(R,C,water), label(R+1,C,sky).   % no sky below water
""", name="scene.lp")
print(program)
tp = program.soft_tp()
torch.manual_seed(0)
logits = torch.randn(1, len(program.positions), program.symbols)          # what a network would predict
free = logits.clone().requires_grad_()
optimiser = torch.optim.Adam([free], 0.1)
for step in range(100):
    p = free.softmax(-1)
    loss = 0.1 * (p - logits.softmax(-1)).square().sum() + tp.loss(p, reduction="sum")
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
broken = [len(program.violated(one.softmax(-1).argmax(-1)[0])) for one in (logits, free)]
print(f"rules broken by the most probable labels: {broken[0]} before, {broken[1]} after training with the loss")
best = program.decode(free.softmax(-1))[0]
print(f"decoded: {best.status}, rules broken: {len(program.violated(best.assignment))}")
letters = {"sky": ".", "ground": "#", "water": "~"}
for row in range(1, 7):
    print("".join(letters[best.assignment[f"label({row},{column},_)"]] for column in range(1, 9)))
