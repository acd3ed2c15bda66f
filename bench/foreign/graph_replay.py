# SPDX-License-Identifier: Apache-2.0
"""A server answers batches by a CUDA graph and waits for the device after each replay. The fix
goes on with the next batch: the stream keeps the order."""
import time

import numpy
import torch

import pair

TURNS, BATCH, WIDTH, DEPTH, ROWS = 100, 4096, 2048, 24, 100000


def capture(model, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, y


@torch.no_grad()
def main(fixed):
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    layers = [part for _ in range(DEPTH) 
              for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())]
    model = torch.nn.Sequential(*layers).cuda().bfloat16()
    table = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
    x, total = torch.zeros(BATCH, WIDTH, device="cuda").bfloat16(), torch.zeros((), device="cuda")
    graph, y = capture(model, x)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        asked = torch.from_numpy(rng.permutation(ROWS)[:BATCH]).pin_memory()
        torch.index_select(table, 0, asked.to("cuda", non_blocking=True), out=x)
        graph.replay()
        if not fixed:
            torch.cuda.synchronize()  # the wait
        total += y.float().abs().sum()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, total.item())


pair.run(main)
