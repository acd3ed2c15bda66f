# SPDX-License-Identifier: Apache-2.0
# The next batch is sent to the device with non_blocking=True, to let Python go on, but from
# ordinary memory: the call waits for what is queued before it, then copies through a staging
# buffer. The evaluation, on another stream, is submitted when all that is done.
# Better: batch.pin_memory(), once.
import torch

STEPS = 10
MILLISECOND = 2_000_000  # cycles, about


def train(batch, weights):
    torch.cuda._sleep(8 * MILLISECOND)
    weights += batch[0]


def upload(device, batch):
    device.copy_(batch, non_blocking=True)


def evaluate(scores, result):
    torch.cuda._sleep(8 * MILLISECOND)
    scores += 1
    result.copy_(scores, non_blocking=True)


def main():
    batch = torch.rand(16, 1 << 20)
    device = torch.zeros(16, 1 << 20, device="cuda")
    weights = torch.zeros(1 << 20, device="cuda")
    scores = torch.zeros(1024, device="cuda")
    result = torch.zeros(1024, pin_memory=True)
    total = 0.0
    side = torch.cuda.Stream()
    train(device, weights)
    upload(device, batch)
    evaluate(scores, result)
    torch.cuda.synchronize()
    for _ in range(STEPS):
        train(device, weights)
        upload(device, batch)
        with torch.cuda.stream(side):
            evaluate(scores, result)
        side.synchronize()
        total += result[0].item()
    torch.cuda.synchronize()
    print(f"{total:.1f}")


main()
