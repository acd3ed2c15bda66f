# SPDX-License-Identifier: Apache-2.0
"""Gradients are clipped only if their norm is over the limit, which the host decides. The fix
scales them by at most 1, on the device."""
import time

import numpy
import torch
import torch.nn.functional as F

import pair

TURNS, BATCH, WIDTH, DEPTH, LIMIT = 60, 8192, 2048, 8, 0.01


def clip(gradients, fixed):
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    scale = LIMIT / (norm + 1e-6)
    if fixed:
        scale = scale.clamp(max=1)
    elif norm <= LIMIT:  # the wait
        return
    for gradient in gradients:
        gradient.mul_(scale)


def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    data = torch.randn(8 * BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
    layers = [part for _ in range(DEPTH)
              for part in (torch.nn.Linear(WIDTH, WIDTH, bias=False), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = rng.permutation(len(data))[:BATCH]
        x = data[torch.from_numpy(rows).pin_memory().to("cuda", non_blocking=True)]
        loss = F.mse_loss(model(x), x.clamp(-0.5, 0.5))
        optimizer.zero_grad()
        loss.backward()
        clip([parameter.grad for parameter in model.parameters()], fixed)
        optimizer.step()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, loss.item())


pair.run(main)
