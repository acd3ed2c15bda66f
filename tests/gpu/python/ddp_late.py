# SPDX-License-Identifier: Apache-2.0
"""ddp_late.py MODE,... [TIMES]: a rank of two, started by torch.distributed.run: DistributedDataParallel
whose host prepares a batch while the device works on the last one.  Rank 1 is late, but for "none":
with "loader" it takes longer to prepare a batch, with "wait" it waits for the device before it does,
which nothing needs.  Several modes take turns.  Rank 0 prints each one's time of a step, us, and a
checksum."""
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


def train(net, optimizer, batches, mode, per_second):
    rank, begun = ranks.get_rank(), 0
    times = round(per_second * (PREPARES_SLOWLY if mode == "loader" and rank == 1 else PREPARES))
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
    modes, start = sys.argv[1].split(","), time.perf_counter()
    prepare(100000)
    per_second = 100000 / (time.perf_counter() - start)
    for number in range(int(sys.argv[2]) if sys.argv[2:] else 1):
        for mode in modes[::-1 if number % 2 else 1]:
            seconds = train(net, optimizer, batches, mode, per_second)
            if rank == 0:
                print(f"step {mode} {round(1e6 * seconds)}")
    if rank == 0:
        print(f"sum {float(sum(p.double().sum() for p in net.parameters())):.6e}")
    ranks.destroy_process_group()


main()
