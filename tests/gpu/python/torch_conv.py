# SPDX-License-Identifier: Apache-2.0
"""Training steps of a small convolutional network: cuDNN forward and backward, SGD."""
from common import device, show, torch

net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
    torch.nn.Conv2d(16, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(16 * 15 * 15, 10)).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(32, 3, 32, 32, device=device)
y = torch.randint(0, 10, (32,), device=device)
for step in range(10):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
show(loss)
