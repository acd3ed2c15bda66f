# SPDX-License-Identifier: Apache-2.0
"""A captured CUDA graph, replayed."""
from common import device, show, torch

x = torch.zeros(4096, device=device)
w = torch.randn(4096, device=device)
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for warm in range(3):
        x.add_(w).mul_(0.5)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    for step in range(10):
        x.add_(w).mul_(0.5)
for replay in range(20):
    graph.replay()
show(x.sum())
