# SPDX-License-Identifier: Apache-2.0
"""Between two compiled parts of a model the host reads the scale of the values. The fix divides
by the scale on the device."""
import os
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
import numpy
import torch
import torch.nn.functional as F

import pair

TURNS, BATCH, WIDTH, DEPTH, ROWS = 80, 4096, 2048, 8, 100000


@torch.compile
def encode(x, weights):
    for weight in weights:
        x = F.gelu(x @ weight)
    return x


@torch.compile
def decode(x, weights):
    for weight in weights:
        x = torch.tanh(x @ weight) + x
    return x


@torch.no_grad()
def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    made = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) * WIDTH ** -0.5
            for _ in range(2 * DEPTH)]
    table = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
    total = torch.zeros((), device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = torch.from_numpy(rng.permutation(ROWS)[:BATCH]).pin_memory()
        x = encode(table[rows.to("cuda", non_blocking=True)], made[:DEPTH])
        scale = x.float().abs().mean()
        x = x / (scale if fixed else scale.item())  # the wait
        total += decode(x, made[DEPTH:]).float().abs().mean()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, total.item())


pair.run(main)
