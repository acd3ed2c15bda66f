# SPDX-License-Identifier: Apache-2.0
"""A model is evaluated, and the correct answers of each batch are counted on the host. The fix
counts them on the device."""
import time

import numpy
import torch

import pair

TURNS, BATCH, WIDTH, DEPTH, CLASSES = 80, 8192, 2048, 16, 1000


@torch.no_grad()
def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    data = torch.randn(8 * BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
    labels = torch.randint(0, CLASSES, (8 * BATCH,), device="cuda")
    layers = [part for _ in range(DEPTH)
              for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH),
                           torch.nn.GELU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, CLASSES)).cuda().bfloat16()
    correct = 0
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = rng.permutation(len(data))[:BATCH]
        rows = torch.from_numpy(rows).pin_memory().to("cuda", non_blocking=True)
        best = model(data[rows]).topk(5, dim=1).indices
        hits = (best == labels[rows, None]).any(dim=1).sum()
        correct = correct + (hits if fixed else hits.cpu())  # the wait
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, float(correct))


pair.run(main)
