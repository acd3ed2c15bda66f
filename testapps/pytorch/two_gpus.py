# SPDX-License-Identifier: Apache-2.0
# Clean: two GPUs, disjoint work, each waited for at the end.
import torch

STEPS = 10
MILLISECOND = 2_000_000  # cycles, about


def advance(data):
    with torch.cuda.device(data.device):
        torch.cuda._sleep(MILLISECOND)
        data += 1


def main():
    tensors = [torch.zeros(1 << 16, device=f"cuda:{i}") for i in range(2)]
    for data in tensors:
        advance(data)
    for i in range(2):
        torch.cuda.synchronize(i)
    for _ in range(STEPS):
        for data in tensors:
            advance(data)
    for i in range(2):
        torch.cuda.synchronize(i)
    print(*(f"{data.sum().item():.1f}" for data in tensors))


main()
