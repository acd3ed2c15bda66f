# SPDX-License-Identifier: Apache-2.0
"""A workspace waits for its stream when it is destroyed, although PyTorch reuses memory in the
order of the stream. The fix leaves that out."""
import time

import numpy
import torch

import pair

TURNS, BATCH, WIDTH, DEPTH, ROWS = 80, 4096, 2048, 14, 100000


class Workspace:
    def __init__(self, fixed):
        self.fixed = fixed
        self.space = [torch.empty(BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
                      for _ in range(2)]

    def __del__(self):
        if not self.fixed:
            torch.cuda.current_stream().synchronize()  # the wait
        self.space.clear()


def answer(weights, x, fixed):
    workspace = Workspace(fixed)
    for number, weight in enumerate(weights):
        x = torch.mm(x, weight, out=workspace.space[number % 2]).tanh_()
    return x.float().abs().sum()


@torch.no_grad()
def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    weights = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) * WIDTH ** -0.5
               for _ in range(DEPTH)]
    table = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
    total = torch.zeros((), device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = torch.from_numpy(rng.permutation(ROWS)[:BATCH]).pin_memory()
        total += answer(weights, table[rows.to("cuda", non_blocking=True)], fixed)
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, total.item())


pair.run(main)
