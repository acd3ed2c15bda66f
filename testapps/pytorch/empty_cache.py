# SPDX-License-Identifier: Apache-2.0
# torch.cuda.empty_cache() in the loop, to save memory: the allocator gives its unused blocks back
# by cudaFree, which waits for the device, and the next step allocates them again by cudaMalloc.
# The device is idle while Python submits the next step.
# Better: leave it out; the cache is what makes allocation cheap.
import torch

STEPS = 200


def forward(x, weights):
    for _ in range(8):
        x = torch.relu(x @ weights)
    return x.mean()


def tidy():
    torch.cuda.empty_cache()


def main():
    torch.manual_seed(0)
    x = torch.rand(2048, 2048, device="cuda")
    weights = torch.rand(2048, 2048, device="cuda") / 2048
    total = forward(x, weights)
    torch.cuda.synchronize()
    for _ in range(STEPS):
        total += forward(x, weights)
        tidy()
    print(f"{total.item():.4e}")


main()
