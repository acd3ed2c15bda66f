# SPDX-License-Identifier: Apache-2.0
# The result of a step is copied to pinned memory with non_blocking=True and read in the next line:
# nothing has waited for the copy.  "fixed" waits for the stream before it reads.
import sys

import torch

STEPS = 10
MILLISECOND = 2_000_000  # cycles, about
fixed = "fixed" in sys.argv[1:]


def download(state, result):
    torch.cuda._sleep(MILLISECOND)
    result.copy_(state, non_blocking=True)


def read(result):
    return result.sum().item()


def main():
    state = torch.ones(2048, device="cuda")
    results = [torch.zeros(2048, pin_memory=True) for _ in range(STEPS)]
    total = 0.0
    torch.cuda.synchronize()
    for result in results:
        download(state, result)
        if fixed:
            torch.cuda.current_stream().synchronize()
        total += read(result)
    torch.cuda.synchronize()
    print(f"{total:.1f}")


main()
