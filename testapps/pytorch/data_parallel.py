# SPDX-License-Identifier: Apache-2.0
# Clean: data-parallel training on two GPUs. NCCL reduces gradients on a stream of its own, behind
# an event of the compute stream; wait() lets the compute stream wait for it before the update.
import os

import torch
import torch.distributed as dist

STEPS = 10


def backward(parameters, gradient):
    torch.mul(parameters, 0.1, out=gradient)


def update(parameters, gradient):
    parameters -= gradient


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    parameters = torch.ones(1 << 22, device="cuda")
    gradient = torch.zeros_like(parameters)
    backward(parameters, gradient)
    update(parameters, gradient)
    dist.all_reduce(gradient)
    torch.cuda.synchronize()
    for _ in range(STEPS):
        backward(parameters, gradient)
        work = dist.all_reduce(gradient, async_op=True)
        work.wait()
        update(parameters, gradient)
    torch.cuda.synchronize()
    if dist.get_rank() == 0:
        print(f"{parameters.sum().item():.4e}")
    dist.destroy_process_group()


main()
