# SPDX-License-Identifier: Apache-2.0
"""torch.compile: kernels that Triton makes in memory."""
from common import device, show, torch


@torch.compile
def f(x, y):
    return torch.relu(x * 2 + y).sum(dim=1)


x = torch.randn(512, 512, device=device)
for step in range(10):
    total = f(x, x.t()).sum()
show(total)
