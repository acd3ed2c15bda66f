# SPDX-License-Identifier: Apache-2.0
"""The stages of an inference pipeline are timed with "with", and leaving it waits for the device.
The fix records events and reads them after the loop."""
import time

import numpy
import torch

import pair

TURNS, BATCH, WIDTH, DEPTH = 80, 8192, 2048, 6


class Stage:
    def __init__(self, name, spent, fixed):
        self.name, self.spent, self.fixed = name, spent, fixed

    def mark(self):
        if not self.fixed:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def __enter__(self):
        self.begin = self.mark()

    def __exit__(self, *error):
        if not self.fixed:
            torch.cuda.synchronize()  # the wait
        self.spent.setdefault(self.name, []).append((self.begin, self.mark()))


def stack_of_layers():
    return torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.SiLU())
                                 for _ in range(DEPTH))).cuda().bfloat16()


@torch.no_grad()
def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    encoder, decoder = stack_of_layers(), stack_of_layers()
    table = torch.randn(100000, WIDTH, device="cuda", dtype=torch.bfloat16)
    spent, total = {}, torch.zeros((), device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        requests = rng.permutation(len(table))[:BATCH]
        x = table[torch.from_numpy(requests).pin_memory().to("cuda", non_blocking=True)]
        with Stage("encode", spent, fixed):
            x = encoder(x)
        with Stage("decode", spent, fixed):
            x = decoder(x)
        total += x.float().abs().sum()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, total.item())
    assert len(spent["encode"]) == TURNS


pair.run(main)
