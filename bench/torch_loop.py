# SPDX-License-Identifier: Apache-2.0
"""torch_loop.py [-x SCALE] [-s FOLDER] [--profiler] [NAME...]: what bench/overhead times in PyTorch,
asked for and printed as with bench/workload.  adds: 5000 small additions; train: steps of a small
training loop, whose backward pass is another thread's; infer: steps of the same model without it;
replay: a training step as a CUDA graph, replayed.  A round is one addition, step or replay.
A name that is asked for may be followed by a number: the turn is that many times as long.  --profiler
puts torch.profiler, CUDA only, around every turn; its start and stop are not timed."""
import argparse
import contextlib
import os
import sys
import time

import torch


def adds():
    x = torch.zeros(64, device="cuda")

    def run(count):
        for _ in range(count):
            x.add_(1.0)

    return run, 5000


def make_model():
    torch.manual_seed(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)).cuda()


def make_step(capturable=False):
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True,
                                  capturable=capturable)
    images = torch.randn(64, 256, device="cuda")
    labels = torch.randint(10, (64,), device="cuda")

    def step():
        # In a graph gradients stay where they are.
        optimizer.zero_grad(set_to_none=not capturable)
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def train():
    step = make_step()

    def run(count):
        for _ in range(count):
            step()

    return run, 12


def infer():
    model, images = make_model(), torch.randn(64, 256, device="cuda")

    def run(count):
        with torch.no_grad():
            for _ in range(count):
                torch.softmax(model(images), 1)

    return run, 60


def replay():
    step, graph, side = make_step(True), torch.cuda.CUDAGraph(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        step()

    def run(count, _tensors=step):  # the graph does not keep them
        for _ in range(count):
            graph.replay()

    return run, 60


def profiler(wanted):
    if not wanted:
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])


def measure(run, count, warm_up, profiled):
    """ns in the calls, and ns in all."""
    with profiler(profiled):
        if warm_up:
            run((count + 3) // 4)
            torch.cuda.synchronize()
        start = time.monotonic_ns()
        run(count)
        submitted = time.monotonic_ns()
        torch.cuda.synchronize()
        end = time.monotonic_ns()
        return submitted - start, end - start


class Loops:
    def __init__(self, options):
        self.options, self.made = options, {}

    def turn(self, name, warm_up=True, times=1.0):
        if name not in self.made:
            self.made[name] = {"adds": adds, "train": train, "infer": infer, "replay": replay}[name]()
        run, count = self.made[name]
        count = max(1, int(count * self.options.x * times))
        submit, total = measure(run, count, warm_up, self.options.profiler)
        print(f"{name} {submit / count:.2f} {total / count:.2f} {count}", flush=True)

    def serve(self):
        for line in sys.stdin:
            words = line.split()
            if words[0] == "core":
                os.sched_setaffinity(0, {int(words[1])})
                print(line, end="", flush=True)
            else:
                self.turn(words[0], times=float(words[1]) if len(words) > 1 else 1.0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-x", type=float, default=1.0)
    parser.add_argument("-s", metavar="FOLDER")
    parser.add_argument("--profiler", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    loops = Loops(options)
    torch.zeros(1, device="cuda")
    if options.s:
        sys.stdin = open(f"{options.s}/ask", encoding="ascii")
        sys.stdout = open(f"{options.s}/say", "w", encoding="ascii")
    for i, name in enumerate(options.names):
        loops.turn(name, i == 0 or name != options.names[i - 1])
    if not options.names:
        loops.serve()


if __name__ == "__main__":
    main()
