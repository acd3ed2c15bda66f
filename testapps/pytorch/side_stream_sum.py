# SPDX-License-Identifier: Apache-2.0
# Batches are normalized on the current stream and summed on a side stream, without a wait: nothing
# orders the two, since PyTorch's pool streams do not wait for the default stream, and using the
# same tensor is no order either. The sum is of what was there before.
# "fixed" waits: side.wait_stream(torch.cuda.current_stream()) before the sum.
import sys

import torch

BATCHES = 10
MILLISECOND = 2_000_000  # cycles, about
fixed = "fixed" in sys.argv[1:]


def normalize(batch, normal):
    torch.cuda._sleep(MILLISECOND)
    torch.mul(batch, 0.5, out=normal)


def add_up(normal, total):
    torch.sum(normal, dim=0, out=total)


def main():
    side = torch.cuda.Stream()
    batches = torch.ones(BATCHES, 256, 1024, device="cuda")
    normal = torch.zeros_like(batches)
    totals = torch.zeros(BATCHES, 1024, device="cuda")
    normalize(batches[0], normal[0])
    add_up(normal[0], totals[0])
    torch.cuda.synchronize()
    for i in range(BATCHES):
        normalize(batches[i], normal[i])
        if fixed:
            side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            add_up(normal[i], totals[i])
    torch.cuda.synchronize()
    print(f"{totals.sum().item():.1f}")


main()
