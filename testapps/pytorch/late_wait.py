# SPDX-License-Identifier: Apache-2.0
# The reduction of a gradient is submitted to the communication stream before that stream waits for
# the event of the compute stream: the wait holds what comes after it, not the reduction.
# "fixed" waits first.
import sys

import torch

BUCKETS = 10
MILLISECOND = 2_000_000  # cycles, about
fixed = "fixed" in sys.argv[1:]


def backward(parameters, gradient):
    torch.cuda._sleep(MILLISECOND)
    torch.mul(parameters, 0.1, out=gradient)


def reduce(gradient, total):
    total += gradient


def main():
    compute, communicate = torch.cuda.Stream(), torch.cuda.Stream()
    parameters = torch.ones(BUCKETS, 1 << 16, device="cuda")
    gradients = torch.zeros_like(parameters)
    totals = torch.zeros_like(parameters)
    backward(parameters[0], gradients[0])
    reduce(gradients[0], totals[0])
    torch.cuda.synchronize()
    for i in range(BUCKETS):
        with torch.cuda.stream(compute):
            backward(parameters[i], gradients[i])
            ready = compute.record_event()
        with torch.cuda.stream(communicate):
            if fixed:
                communicate.wait_event(ready)
            reduce(gradients[i], totals[i])
            if not fixed:
                communicate.wait_event(ready)
    torch.cuda.synchronize()
    print(f"{totals.sum().item():.1f}")


main()
