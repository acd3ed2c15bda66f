# SPDX-License-Identifier: Apache-2.0
"""A network of convolutions is trained, and each step stops the run if the loss is not finite.
The fix notes it on the device and looks once, at the end."""
import time

import numpy
import torch
import torch.nn.functional as F

import pair

TURNS, BATCH, SIZE = 40, 1024, 64


def network():
    parts, channels = [], 4
    for wider in (64, 128, 256, 256):
        parts += [torch.nn.Conv2d(channels, wider, 3, stride=2, padding=1), torch.nn.ReLU()]
        parts += [torch.nn.Conv2d(wider, wider, 3, padding=1), torch.nn.ReLU()]
        channels = wider
    parts += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 10)]
    return torch.nn.Sequential(*parts).cuda().to(torch.bfloat16, memory_format=torch.channels_last)


def augment(rng, count):
    """The pictures of the next batch, and by how much each is shifted."""
    return rng.permutation(100000)[:count] % 1024, rng.integers(-4, 5, 2)


def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    pictures = torch.rand(1024, 4, SIZE, SIZE, device="cuda").bfloat16()
    labels = torch.randint(0, 10, (1024,), device="cuda")
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    broken = torch.zeros((), dtype=torch.bool, device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for turn in range(TURNS):
        rows, (dx, dy) = augment(rng, BATCH)
        rows = torch.from_numpy(rows).pin_memory().to("cuda", non_blocking=True)
        x = pictures[rows].roll((int(dx), int(dy)), (2, 3))
        loss = F.cross_entropy(model(x.contiguous(memory_format=torch.channels_last)), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        if fixed:
            broken |= ~torch.isfinite(loss)
        elif not torch.isfinite(loss):  # the wait
            raise FloatingPointError(f"the loss of step {turn}")
        optimizer.step()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, loss.item() + broken.item())


pair.run(main)
