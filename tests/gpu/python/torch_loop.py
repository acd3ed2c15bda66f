# SPDX-License-Identifier: Apache-2.0
"""A plain PyTorch loop: a product, relu on a side stream with its fences, .item() at every step."""
import torch

torch.manual_seed(1)
x = torch.randn(512, 512, device="cuda")
w = torch.randn(512, 512, device="cuda")
side = torch.cuda.Stream()
total = 0.0
for step in range(20):
    y = x @ w
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        z = torch.relu(y)
    torch.cuda.current_stream().wait_stream(side)
    total += z.sum().item()
print(f"{total:.6e}")
