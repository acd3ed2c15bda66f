# SPDX-License-Identifier: Apache-2.0
"""torch_loop.py [-n REPETITIONS] [-x SCALE] [--profiler] NAME...: what bench/overhead times in
PyTorch, printed as bench/workload does.  adds: 5000 small additions; train: steps of a small
training loop.  A round is one addition or one step.  --profiler puts torch.profiler, CUDA only,
around every repetition; its start and stop are not timed."""
import argparse
import contextlib
import time

import torch


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


def repeat(name, repetitions, scale, profiled):
    run, count = {"adds": adds, "train": train}[name]()
    count = max(1, int(count * scale))
    run(max(1, count // 4))
    torch.cuda.synchronize()
    for _ in range(repetitions):
        with profiler(profiled):
            if profiled:
                run(max(1, count // 20))
                torch.cuda.synchronize()
            start = time.monotonic_ns()
            run(count)
            submitted = time.monotonic_ns()
            torch.cuda.synchronize()
            end = time.monotonic_ns()
        print(f"sample {name} {(submitted - start) / count:.2f} {(end - start) / count:.2f} "
              f"{count}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=1)
    parser.add_argument("-x", type=float, default=1.0)
    parser.add_argument("--profiler", action="store_true")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    for name in options.names:
        repeat(name, options.n, options.x, options.profiler)


main()
