# SPDX-License-Identifier: Apache-2.0
# A pinned batch is filled again while its upload with non_blocking=True is pending: the device gets
# the next batch instead.  "fixed" waits for an event behind the upload before it fills the batch.
import sys

import torch

STEPS = 10
MILLISECOND = 2_000_000  # cycles, about
fixed = "fixed" in sys.argv[1:]


def fill(batch, step):
    batch.fill_(float(step))


def upload(device, batch):
    torch.cuda._sleep(MILLISECOND)
    device.copy_(batch, non_blocking=True)
    return torch.cuda.current_stream().record_event()


def main():
    batch = torch.zeros(2048, pin_memory=True)
    devices = [torch.zeros(2048, device="cuda") for _ in range(STEPS)]
    torch.cuda.synchronize()
    for step, device in enumerate(devices):
        fill(batch, step)
        uploaded = upload(device, batch)
        if fixed:
            uploaded.synchronize()
    torch.cuda.synchronize()
    print(sum(d.sum().item() for d in devices) if fixed else "")


main()
