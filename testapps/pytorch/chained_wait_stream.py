# SPDX-License-Identifier: Apache-2.0
# Three streams are chained by wait_stream before any of them has work. A wait covers what was
# submitted before: nothing. The stages pass their data on and run at the same time.
# "fixed" waits behind the work of each stage. Without shared data it would be clean.
import sys

import torch

ITEMS = 8
MILLISECOND = 2_000_000  # cycles, about
fixed = "fixed" in sys.argv[1:]


def run_stage(source, target):
    torch.cuda._sleep(MILLISECOND)
    torch.add(source, 1, out=target)


def run_item(data, streams):
    for earlier, later in zip(streams, streams[1:]):
        later.wait_stream(earlier)
    for i, stream in enumerate(streams):
        if fixed and i:
            stream.wait_stream(streams[i - 1])
        with torch.cuda.stream(stream):
            run_stage(data[i], data[i + 1])


def main():
    streams = [torch.cuda.Stream() for _ in range(3)]
    items = torch.zeros(ITEMS, 4, 1 << 16, device="cuda")
    run_stage(items[0, 0], items[0, 3])
    torch.cuda.synchronize()
    for item in items:
        run_item(item, streams)
    torch.cuda.synchronize()
    print(f"{items[:, 3].sum().item():.1f}")


main()
