# SPDX-License-Identifier: Apache-2.0
"""idle_steps.py NAME...: training-like loops of PyTorch in which a device idles for different reasons;
without names a list of them.  With --profile each prints how much of the time of its last steps
the device idled, by torch.profiler's records."""
import sys
import time

import torch

STEPS, WARM = 120, 20


def tiny_layers():
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(12)]).cuda()
    x = torch.randn(16, 64, device="cuda")
    return lambda: model(x).sum().backward()


def result_per_step():
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).cuda()
    x = torch.randn(64, 256, device="cuda")
    return lambda: model(x).sum().item()


def convolutions():
    model = torch.nn.Sequential(*[torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(4)]).cuda()
    x = torch.randn(16, 64, 128, 128, device="cuda")
    return lambda: model(x).sum().backward()


def large_products():
    a = torch.randn(8192, 8192, device="cuda")
    return lambda: a @ a


def pageable_uploads():
    host, weights = torch.randn(4096, 1024), torch.randn(1024, 1024, device="cuda")
    return lambda: host.cuda() @ weights


def pinned_uploads():
    host = torch.randn(4096, 1024).pin_memory()
    weights = torch.randn(1024, 1024, device="cuda")
    return lambda: host.cuda(non_blocking=True) @ weights


def optimizer():
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()
    adam = torch.optim.AdamW(model.parameters(), foreach=True)
    x = torch.randn(128, 512, device="cuda")

    def step():
        adam.zero_grad()
        model(x).sum().backward()
        adam.step()
    return step


def sleeping_host():
    a = torch.randn(2048, 2048, device="cuda")

    def step():
        time.sleep(0.001)
        return a @ a
    return step


def replayed_graph():
    a = torch.randn(512, 512, device="cuda")
    torch.relu(a @ a)  # what is made at first use cannot be captured
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        b = a
        for _ in range(20):
            b = torch.relu(b @ a)
    return graph.replay


def two_streams():
    a = torch.randn(2048, 2048, device="cuda")
    side = torch.cuda.Stream()

    def step():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            b = a @ a
        torch.cuda.current_stream().wait_stream(side)
        return torch.relu(b)
    return step


LOOPS = [tiny_layers, result_per_step, convolutions, large_products, pageable_uploads, pinned_uploads,
         optimizer, sleeping_host, replayed_graph, two_streams]


def run(step, steps):
    for _ in range(steps):
        step()
    torch.cuda.synchronize()


def idle_share(profile):
    """Measures within the time from the first start to the last end of the device's operations."""
    spans = sorted((e.time_range.start, e.time_range.end) for e in profile.events()
                   if e.device_type == torch.autograd.DeviceType.CUDA)
    busy, end = 0, spans[0][0]
    for start, stop in spans:
        busy += max(0, stop - max(start, end))
        end = max(end, stop)
    return 1 - busy / (end - spans[0][0])


def main():
    names = [name for name in sys.argv[1:] if name != "--profile"]
    if not names:
        print(*[loop.__name__ for loop in LOOPS])
    for loop in LOOPS:
        if loop.__name__ not in names:
            continue
        step = loop()
        run(step, WARM)
        if "--profile" not in sys.argv:
            run(step, STEPS - WARM)
            continue
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            run(step, STEPS - WARM)
        print(f"{loop.__name__} {idle_share(profile):.4f}")


if __name__ == "__main__":
    main()
