# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel of the program's own."""
from common import device, show, torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


x = torch.randn(10000, device=device)
out = torch.empty_like(x)
for step in range(20):
    add[(triton.cdiv(10000, 256),)](x, x, out, 10000, BLOCK=256)
show(out.sum())
