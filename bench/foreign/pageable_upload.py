# SPDX-License-Identifier: Apache-2.0
"""Batches of pictures go to the device from pageable memory, and .to() returns when they are
there. The fix pins the memory and does not wait for the copy."""
import time

import torch

import pair

TURNS, BATCH, CHANNELS, SIZE, KEPT = 40, 128, 3, 224, 4


def network():
    parts, channels = [], CHANNELS
    for wider in (32, 64, 128, 256):
        parts += [torch.nn.Conv2d(channels, wider, 3, stride=2, padding=1), torch.nn.ReLU()]
        parts += [torch.nn.Conv2d(wider, wider, 3, padding=1), torch.nn.ReLU()]
        channels = wider
    parts += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 10)]
    return torch.nn.Sequential(*parts).cuda().to(torch.bfloat16, memory_format=torch.channels_last)


@torch.no_grad()
def main(fixed):
    torch.manual_seed(0)
    loaded = [torch.randint(0, 256, (BATCH, CHANNELS, SIZE, SIZE), dtype=torch.uint8)
              for _ in range(KEPT)]
    if fixed:
        loaded = [batch.pin_memory() for batch in loaded]
    model, total = network(), torch.zeros((), device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for turn in range(TURNS):
        batch = loaded[turn % KEPT].to("cuda", non_blocking=fixed)  # the wait
        x = batch.to(torch.bfloat16, memory_format=torch.channels_last) / 255
        total += model(x).float().abs().sum()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, total.item())


pair.run(main)
