# SPDX-License-Identifier: Apache-2.0
"""steps_ddp.py [race]: one rank of two, started by torch.distributed.run: 200 steps of a net in
DistributedDataParallel, whose batches a stream of their own brings in.  With "race" the main stream does
not wait for it."""
import sys

import torch
import torch.distributed as ranks

STEPS = 200
RACE = "race" in sys.argv[1:]


def main():
    ranks.init_process_group("nccl")
    rank = ranks.get_rank()
    torch.cuda.set_device(rank)
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    batches = [torch.full((256, 1024), step / STEPS).pin_memory() for step in range(STEPS)]
    side, x = torch.cuda.Stream(), torch.zeros(256, 1024, device="cuda")
    torch.cuda.synchronize()
    for batch in batches:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.copy_(batch, non_blocking=True)
        if not RACE:
            torch.cuda.current_stream().wait_stream(side)
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    if rank == 0:
        print(f"{float(sum(p.sum() for p in net.parameters())):.4e}")
    ranks.destroy_process_group()


main()
