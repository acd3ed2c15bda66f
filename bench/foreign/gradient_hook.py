# SPDX-License-Identifier: Apache-2.0
"""Hooks log the norm of every layer's gradient and read it at once, in the thread that runs the
backward pass. The fix keeps the norms on the device."""
import time

import numpy
import torch
import torch.nn.functional as F

import pair

TURNS, BATCH, WIDTH, DEPTH = 60, 8192, 2048, 8


def watch(parameter, norms, fixed):
    def hook(gradient):
        norm = gradient.norm()
        norms.append(norm if fixed else norm.item())  # the wait
    parameter.register_hook(hook)


def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    data = torch.randn(8 * BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
    layers = [part for _ in range(DEPTH)
              for part in (torch.nn.Linear(WIDTH, WIDTH, bias=False), torch.nn.GELU())]
    model, norms = torch.nn.Sequential(*layers).cuda().bfloat16(), []
    for parameter in model.parameters():
        watch(parameter, norms, fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = rng.permutation(len(data))[:BATCH]
        x = data[torch.from_numpy(rows).pin_memory().to("cuda", non_blocking=True)]
        loss = F.mse_loss(model(x), x.clamp(-0.5, 0.5))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, loss.item() + 0 * float(norms[-1]))


pair.run(main)
