"""A step of as2.Module for addition at batch 256 on two threads: the module, its operator, and a convolution written by hand,
called from Python, and the last two from C++: what Python adds to the convolution is PyTorch's own.

    ./as2 python bench/python_module.py

Each time is the least of many, so that a busy machine does not count; results are compared before times are. The rows take
turns, and so do the rounds of C++, which is built with the tests (./as2 build).
"""
import pathlib
import subprocess
import time

import as2
import torch

THREADS, ROUNDS = 2, 5
torch.set_num_threads(THREADS)
add = as2.Module("addition.lp", inputs="digit(*", output="total(_)")
p = torch.rand(256, 2, 10).softmax(-1).requires_grad_()
label = torch.randint(19, (256, 1))
totals = (torch.arange(10)[:, None] + torch.arange(10)).flatten()
package = pathlib.Path(as2.__file__).parent
without_python = package.parents[1] / "tests" / "python" / "python_step"


def convolved(q):
    outer = q[:, 0, :, None] * q[:, 1, None, :]
    return torch.zeros(len(q), 19).index_add(1, totals, outer.flatten(1))


def operator(q):
    return torch.ops.as2.distribution(q, add._number)


def least(function, count=600):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


def in_python(distribution):
    step = least(lambda: (-distribution(p).gather(1, label).log().mean()).backward())
    with torch.no_grad():
        return step, least(lambda: distribution(p))


def in_cpp():
    words = [without_python, package / "libas2_python.so", torch.ops.as2.shipped_file("programs/addition.lp"), str(THREADS)]
    words += [str(add.program.index[name]) for name in add.input_names]
    return list(map(float, subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()))


assert torch.allclose(add(p), convolved(p), atol=1e-6)
found = {}
for _ in range(ROUNDS):
    for name, function in (("as2.Module", add), ("its operator", operator), ("convolution", convolved)):
        found.setdefault(name, []).append(in_python(function))
    if without_python.exists():
        times = in_cpp()
        found.setdefault("operator, from C++", []).append(times[:2])
        found.setdefault("convolution, from C++", []).append(times[2:])
best = {name: [min(times) for times in zip(*each)] for name, each in found.items()}
for name, (step, call) in best.items():
    print(f"{name:<21} {step:.3f} ms a step, {call:.3f} ms of it the call")
if without_python.exists():
    for name, other in (("as2.Module", "operator"), ("its operator", "operator"), ("convolution", "convolution")):
        over = [100 * (mine / theirs - 1) for mine, theirs in zip(best[name], best[other + ", from C++"])]
        print(f"Python adds {over[0]:.1f} % to the step with {name}, {over[1]:.1f} % to the call")
logs = least(lambda: (-add.log_probability(p).gather(1, label).mean()).backward(), 200)
labels = label.flatten()
seen = least(lambda: (-add.log_probability(p, labels).mean()).backward())
print(f"{'in logarithms':<21} {seen:.3f} ms a step with one label per row, {logs:.3f} with all sums")
