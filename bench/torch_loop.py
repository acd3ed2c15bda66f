# SPDX-License-Identifier: Apache-2.0
"""torch_loop.py [-n REPETITIONS] [-x SCALE] [-q NS] [--profiler] NAME...: what bench/overhead times
in PyTorch, printed as bench/workload does.  adds: 5000 small additions; train: steps of a small
training loop.  A round is one addition or one step.  --profiler puts torch.profiler, CUDA only,
around every repetition; its start and stop are not timed.  -q: ns that undisturbed.py gave; a
repetition on a disturbed core is run again."""
import argparse
import contextlib
import sys
import time

import torch

sys.dont_write_bytecode = True
from undisturbed import undisturbed

TRIES = 4


def adds():
    x = torch.zeros(64, device="cuda")

    def run(count):
        for _ in range(count):
            x.add_(1.0)

    return run, 5000


def train():
    torch.manual_seed(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    images = torch.randn(64, 256, device="cuda")
    labels = torch.randint(10, (64,), device="cuda")

    def run(count):
        for _ in range(count):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

    return run, 60


def profiler(wanted):
    if not wanted:
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])


def measure(run, count, profiled, calm):
    """One repetition: ns in the calls, ns in all, and whether the core was undisturbed."""
    with profiler(profiled):
        if profiled:
            run(max(1, count // 20))
            torch.cuda.synchronize()
        before = undisturbed(calm)
        start = time.monotonic_ns()
        run(count)
        submitted = time.monotonic_ns()
        torch.cuda.synchronize()
        end = time.monotonic_ns()
        return submitted - start, end - start, undisturbed(calm) and before


def repeat(name, options):
    run, count = {"adds": adds, "train": train}[name]()
    count = max(1, int(count * options.x))
    run(max(1, count // 4))
    torch.cuda.synchronize()
    for _ in range(options.n):
        for attempt in range(1, TRIES + 1):
            submit, total, counts = measure(run, count, options.profiler, options.q)
            if counts:
                break
        print(f"{'sample' if counts else 'disturbed'} {name} {submit / count:.2f} "
              f"{total / count:.2f} {count} {attempt} {attempt - counts}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=1)
    parser.add_argument("-x", type=float, default=1.0)
    parser.add_argument("-q", type=float, default=0.0)
    parser.add_argument("--profiler", action="store_true")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    for name in options.names:
        repeat(name, options)


main()
