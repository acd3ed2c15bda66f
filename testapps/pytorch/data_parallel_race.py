# SPDX-License-Identifier: Apache-2.0
# Data-parallel training on two GPUs, without the wait for the reduction: the update reads gradients
# that NCCL is still reducing on its own stream.
# Better: work.wait() before the update.
import os

import torch
import torch.distributed as dist

STEPS = 10


def backward(parameters, gradient):
    torch.mul(parameters, 0.1, out=gradient)


def reduce(gradient):
    return dist.all_reduce(gradient, async_op=True)


def update(parameters, gradient):
    parameters -= gradient


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    parameters = torch.ones(1 << 22, device="cuda")
    gradients = [torch.zeros_like(parameters) for _ in range(STEPS)]
    backward(parameters, gradients[0])
    update(parameters, gradients[0])
    dist.all_reduce(gradients[0])
    torch.cuda.synchronize()
    pending = []
    for gradient in gradients:
        backward(parameters, gradient)
        pending.append(reduce(gradient))
        update(parameters, gradient)
    torch.cuda.synchronize()
    if dist.get_rank() == 0:
        print(f"{parameters.sum().item():.4e}")
    dist.destroy_process_group()


main()
