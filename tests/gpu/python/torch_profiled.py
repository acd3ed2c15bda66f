# SPDX-License-Identifier: Apache-2.0
"""A program that profiles itself; says on stderr whether its profiler saw the device."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile

values = torch.ones(1 << 16, device="cuda")
with profile(activities=[ProfilerActivity.CUDA]) as profiler:
    for _ in range(50):
        values = values + 1
    torch.cuda.synchronize()
kernels = sum("elementwise" in event.name for event in profiler.events())
print("profiler saw the device" if kernels else "profiler saw nothing", file=sys.stderr)
print(int(values.sum().item()))
