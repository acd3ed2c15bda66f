# SPDX-License-Identifier: Apache-2.0
"""Trains a small network for about 10 000 CUDA calls.  Under torchrun each rank does so on its own
device, and the ranks average their gradients once a step."""
import os
import sys

import torch
import torch.distributed as dist

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
rank, ranks = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
torch.cuda.set_device(rank)
if ranks > 1:
    dist.init_process_group("nccl")
torch.manual_seed(1)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1),
    torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 32 * 32, 64), torch.nn.LayerNorm(64),
    torch.nn.GELU(), torch.nn.Linear(64, 10)).cuda()
if ranks > 1:
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
images = torch.randn(64, 3, 32, 32, device="cuda")
labels = torch.randint(0, 10, (64,), device="cuda")
for step in range(steps):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: {loss.item():.4f}", flush=True)
torch.cuda.synchronize()
if ranks > 1:
    dist.destroy_process_group()
