# SPDX-License-Identifier: Apache-2.0
# The loss of every step is fetched by .item(), to add it up. That copies it to the host and waits
# for it, and so for all the work of the step: the device is idle while Python submits the next.
# Better: add losses up on the device, and fetch the sum now and then.
import torch

STEPS = 2000


def forward(x, weights):
    for _ in range(5):
        x = torch.relu(x @ weights)
    return x


def train_step(x, weights):
    loss = forward(x, weights).mean()
    return loss.item()


def main():
    torch.manual_seed(0)
    x = torch.rand(1024, 1024, device="cuda")
    weights = torch.rand(1024, 1024, device="cuda") / 512
    train_step(x, weights)
    total = 0.0
    for _ in range(STEPS):
        total += train_step(x, weights)
    print(f"{total:.4e}")


main()
