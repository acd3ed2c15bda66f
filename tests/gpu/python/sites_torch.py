# SPDX-License-Identifier: Apache-2.0
"""PyTorch calls whose lines tests/gpu/python_sites looks for: # site FUNCTION KIND."""
import threading
import torch


def make(device):
    return torch.ones(1 << 16, device=device)  # site make kernel


def read(x):
    return x.item()  # site read memcpy


def copy(x):
    return x.to("cpu")  # site copy memcpy


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())

    def forward(self, x):
        return self.layers(x)  # site Net.forward kernel


def step(net, x, optimizer):
    optimizer.zero_grad()
    loss = net(x).square().sum()  # site step kernel
    loss.backward()
    optimizer.step()  # site step kernel
    return read(loss)


def batches(count):
    for i in range(count):
        yield torch.full((32, 64), float(i), device="cuda")  # site batches kernel


def worker(out):
    out.append(float((torch.zeros(1 << 20, device="cuda") + 1).sum()))  # site worker kernel


def main():
    x = make("cuda")
    total = read(x.sum()) + float(copy(x)[0])
    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for batch in batches(5):
        total += step(net, batch, optimizer)
    out = []
    threads = [threading.Thread(target=worker, args=(out,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(len(out), total > 0)


main()
