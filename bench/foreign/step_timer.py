# SPDX-License-Identifier: Apache-2.0
"""A trainer times its forward and backward passes by the host's clock, and so it waits for the
device around each. The fix records events and reads them after the loop."""
import time

import numpy
import torch
import torch.nn.functional as F

import pair

TURNS, BATCH, WIDTH, DEPTH = 60, 8192, 2048, 8


def timestamp(fixed):
    if fixed:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event
    torch.cuda.synchronize()  # the wait
    return time.perf_counter()


def milliseconds(begin, end):
    return begin.elapsed_time(end) if isinstance(begin, torch.cuda.Event) else 1e3 * (end - begin)


def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    data = torch.randn(8 * BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
    layers = [part for _ in range(DEPTH)
              for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    times = []
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = rng.permutation(len(data))[:BATCH]
        x = data[torch.from_numpy(rows).pin_memory().to("cuda", non_blocking=True)]
        marks = [timestamp(fixed)]
        loss = F.mse_loss(model(x), x.clamp(-0.5, 0.5))
        marks.append(timestamp(fixed))
        optimizer.zero_grad()
        loss.backward()
        marks.append(timestamp(fixed))
        optimizer.step()
        times.append(marks)
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, loss.item())
    assert sum(milliseconds(*marks[1:]) for marks in times) > 0


pair.run(main)
