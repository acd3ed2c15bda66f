# SPDX-License-Identifier: Apache-2.0
# Indexing by a boolean mask makes a tensor whose size depends on the data: the host must know how
# many elements are selected, so the line copies a count to the host and waits for it, and so for
# all that is queued before. It looks like arithmetic and is a synchronization in every step.
# Better: torch.where, or multiply by the mask.
import torch

STEPS = 2000


def forward(x, weights):
    for _ in range(5):
        x = torch.relu(x @ weights)
    return x


def select(x):
    return x[x > 0.5].sum()


def main():
    torch.manual_seed(0)
    x = torch.rand(1024, 1024, device="cuda")
    weights = torch.rand(1024, 1024, device="cuda") / 512
    total = select(forward(x, weights))
    for _ in range(STEPS):
        total += select(forward(x, weights))
    print(f"{total.item():.4e}")


main()
