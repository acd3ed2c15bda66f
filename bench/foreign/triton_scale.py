# SPDX-License-Identifier: Apache-2.0
"""The function around a Triton kernel waits for the device after each launch, left over from
debugging. The fix is without."""
import time

import torch
import triton
import triton.language as tl

import pair

TURNS, LAYERS, COUNT = 100, 16, 1 << 25


@triton.jit
def scale_and_add(x, y, out, factor, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    value = tl.load(x + at, mask=mask) * factor + tl.load(y + at, mask=mask)
    tl.store(out + at, value, mask=mask)


def combine(x, y, out, factor, fixed):
    scale_and_add[(triton.cdiv(COUNT, 1024),)](x, y, out, factor, COUNT, BLOCK=1024)
    if not fixed:
        torch.cuda.synchronize()  # the wait


def main(fixed):
    torch.manual_seed(0)
    x, y = (torch.rand(COUNT, device="cuda") for _ in range(2))
    out = torch.zeros(COUNT, device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        for _ in range(LAYERS):
            combine(x, y, out, 0.5, fixed)
            out, y = y, out
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, y.double().sum().item())


pair.run(main)
