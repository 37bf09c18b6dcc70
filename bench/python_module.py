"""A step of as2.Module for addition at batch 256: the module, the operator alone, and a convolution written by hand.

    ./as2 python bench/python_module.py

Each time is the least of many, so that a busy machine does not count; results are compared before times are.
"""
import time

import as2
import torch

torch.set_num_threads(1)
add = as2.Module("addition.lp", inputs="digit(*", output="total(_)")
p = torch.rand(256, 2, 10).softmax(-1).requires_grad_()
label = torch.randint(19, (256, 1))
totals = (torch.arange(10)[:, None] + torch.arange(10)).flatten()


def convolved(q):
    outer = q[:, 0, :, None] * q[:, 1, None, :]
    return torch.zeros(len(q), 19).index_add(1, totals, outer.flatten(1))


def operator(q):
    return torch.ops.as2.distribution(q, add._number)


def least(function, count=1000):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


assert torch.allclose(add(p), convolved(p), atol=1e-6)
for name, distribution in (("as2.Module", add), ("its operator", operator), ("convolution", convolved)):
    step = least(lambda: (-distribution(p).gather(1, label).log().mean()).backward())
    with torch.no_grad():
        call = least(lambda: distribution(p))
    print(f"{name:<13} {step:.3f} ms a step, {call:.3f} ms of it the call")
logs = least(lambda: (-add.log_probability(p).gather(1, label).mean()).backward(), 200)
print(f"{'in logarithms':<13} {logs:.3f} ms a step")
