# SPDX-License-Identifier: Apache-2.0
# The predictions of every step are moved to the host by .cpu(), to be kept until the end. That waits
# for all the work of the step: the device is idle while Python submits the next.
# Better: keep them on the device and move them once, or copy to pinned memory with an event.
import torch

STEPS = 2000


def forward(x, weights):
    for _ in range(5):
        x = torch.relu(x @ weights)
    return x


def predict(x, weights):
    labels = forward(x, weights).argmax(dim=1)
    return labels.cpu()


def main():
    torch.manual_seed(0)
    x = torch.rand(1024, 1024, device="cuda")
    weights = torch.rand(1024, 1024, device="cuda") / 512
    predict(x, weights)
    kept = [predict(x, weights) for _ in range(STEPS)]
    print(torch.stack(kept).sum().item())


main()
