# SPDX-License-Identifier: Apache-2.0
"""A transformer block, forward and backward, in half precision."""
from common import device, show, torch

block = torch.nn.TransformerEncoderLayer(256, 8, 512, dropout=0.0, batch_first=True).to(device)
x = torch.randn(8, 64, 256, device=device)
for step in range(5):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = block(x).square().mean()
    loss.backward()
show(loss)
