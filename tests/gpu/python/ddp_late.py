# SPDX-License-Identifier: Apache-2.0
"""ddp_late.py none|loader|wait: a rank of two, started by torch.distributed.run: DistributedDataParallel
whose host prepares a batch while the device works on the last one.  Rank 1 is late: "loader" takes
longer to prepare a batch, "wait" waits for the device before it does, which nothing needs.  Rank 0
prints a checksum and the time of a step, us."""
import sys
import time

import torch
import torch.distributed as ranks

STEPS, WARM_UP, SIZE = 120, 20, 4096
PREPARES, PREPARES_SLOWLY = 0.002, 0.015  # s


def prepare(times):
    value = 1
    for i in range(times):
        value = value * 1103515245 + i & 0x7fffffff
    return value


def load_batch(batches, step, times):
    """No clock is read here: after a wait that would look as if the wait were for that."""
    return batches[(step + prepare(times) * 0) % len(batches)]


def wait_for_step():
    torch.cuda.synchronize()


def train(net, optimizer, batches, mode):
    rank, begun = ranks.get_rank(), 0
    seconds, start = PREPARES_SLOWLY if mode == "loader" and rank == 1 else PREPARES, time.perf_counter()
    prepare(100000)
    times = round(seconds * 100000 / (time.perf_counter() - start))
    for step in range(STEPS):
        if mode == "wait" and rank == 1:
            wait_for_step()
        batch = load_batch(batches, step, times)
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
        if step == WARM_UP:
            torch.cuda.synchronize()
            begun = time.perf_counter()
    torch.cuda.synchronize()
    # The host is ahead of the device, so that single steps say little.
    return (time.perf_counter() - begun) / (STEPS - 1 - WARM_UP)


def main():
    ranks.init_process_group("nccl")
    rank = ranks.get_rank()
    torch.cuda.set_device(rank)
    torch.manual_seed(1)
    layers = [torch.nn.Linear(SIZE, SIZE, bias=False) for _ in range(3)]
    net = torch.nn.Sequential(*layers).cuda()
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    batches = [torch.full((512, SIZE), (step + rank) / 8, device="cuda") for step in range(4)]
    seconds = train(net, optimizer, batches, sys.argv[1])
    if rank == 0:
        print(f"sum {float(sum(p.double().sum() for p in net.parameters())):.6e}")
        print(f"step {round(1e6 * seconds)}")
    ranks.destroy_process_group()


main()
