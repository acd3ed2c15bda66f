# SPDX-License-Identifier: Apache-2.0
"""steps_torch.py NAME [race]: 200 steps of training with PyTorch in which streams are used as they should
be, or, with "race", with one wait or record_stream left out.  Nothing is waited for but at the end."""
import sys

import torch
import torch.nn.functional as F

STEPS = 200
RACE = "race" in sys.argv[2:]
cuda = torch.device("cuda")


def main_stream():
    return torch.cuda.current_stream()


def mean_of(parameters):
    return torch.stack([p.detach().float().mean() for p in parameters]).mean()


def conv():
    """A convolutional network; its gradients' norm is taken on another stream."""
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
        torch.nn.Conv2d(16, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(16 * 15 * 15, 10)).to(cuda)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.randn(32, 3, 32, 32, device=cuda), torch.randint(0, 10, (32,), device=cuda)
    side, norms = torch.cuda.Stream(), torch.zeros(STEPS, device=cuda)
    torch.cuda.synchronize()
    for step in range(STEPS):
        optimizer.zero_grad(set_to_none=False)
        F.cross_entropy(net(x), y).backward()
        side.wait_stream(main_stream())
        with torch.cuda.stream(side):
            norms[step].copy_(net[6].weight.grad.sum())
        if not RACE:
            main_stream().wait_stream(side)
        optimizer.step()
    torch.cuda.synchronize()
    return norms.mean()


def transformer():
    """A transformer layer; a moving average of its weights is kept on another stream."""
    net = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True).to(cuda)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x, average = torch.randn(8, 32, 128, device=cuda), torch.zeros(256, 128, device=cuda)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    for step in range(STEPS):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        if not RACE or step < 3:
            main_stream().wait_stream(side)
        optimizer.step()
        side.wait_stream(main_stream())
        with torch.cuda.stream(side):
            average.lerp_(net.linear1.weight.detach(), 0.01)
    torch.cuda.synchronize()
    return average.mean()


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * 8

    def __getitem__(self, index):
        return torch.full((4096,), index / 1000)


def loader():
    """A DataLoader with pinned memory, whose batches a stream of their own brings in one step ahead."""
    net = torch.nn.Sequential(torch.nn.Linear(4096, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).to(cuda)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2, pin_memory=True))
    torch.cuda.synchronize()

    def fetch():
        with torch.cuda.stream(side):
            batch = next(batches, None)
            return None if batch is None else batch.to(cuda, non_blocking=True)

    following = fetch()
    while following is not None:
        if not RACE:
            main_stream().wait_stream(side)
        x = following
        x.record_stream(main_stream())
        following = fetch()
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    return mean_of(net.parameters())


def freed():
    """Batches that are made on one stream, used on another and then freed."""
    net = torch.nn.Linear(2048, 256).to(cuda)
    side, total = torch.cuda.Stream(), torch.zeros(256, device=cuda)
    torch.cuda.synchronize()
    with torch.no_grad():
        for step in range(STEPS):
            with torch.cuda.stream(side):
                x = torch.full((64, 2048), step / 1000, device=cuda)
            main_stream().wait_stream(side)
            total += net(x).mean(0)
            if not RACE:
                x.record_stream(main_stream())
            del x
    torch.cuda.synchronize()
    return total.mean()


def compiled():
    """torch.compile; its input is made on another stream."""
    weights = torch.randn(512, 512, device=cuda)

    @torch.compile
    def step_of(x, w):
        return torch.relu(x * 2 + w).sum(dim=1)

    x, total = torch.zeros(512, 512, device=cuda), torch.zeros(512, device=cuda)
    total += step_of(x, weights)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x.add_(0)
    torch.cuda.synchronize()
    for step in range(STEPS):
        if not RACE:
            side.wait_stream(main_stream())
        with torch.cuda.stream(side):
            x.add_(0.001)
        main_stream().wait_stream(side)
        total += step_of(x, weights)
    torch.cuda.synchronize()
    return total.mean()


def graphs():
    """A captured training step; what it reads is brought in on another stream."""
    net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).to(cuda)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, batches = torch.zeros(64, 256, device=cuda), torch.randn(STEPS, 64, 256).pin_memory()
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def step_of():
        optimizer.zero_grad(set_to_none=False)
        net(x).square().mean().backward()
        optimizer.step()

    side.wait_stream(main_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step_of()
    main_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        step_of()
    torch.cuda.synchronize()
    for step in range(STEPS):
        if not RACE:
            side.wait_stream(main_stream())
        with torch.cuda.stream(side):
            x.copy_(batches[step], non_blocking=True)
        main_stream().wait_stream(side)
        graph.replay()
    torch.cuda.synchronize()
    return mean_of(net.parameters())


def amp():
    """Automatic mixed precision with a scaler; losses are added up on another stream."""
    net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).to(cuda)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    scaler = torch.amp.GradScaler("cuda")
    x, losses = torch.randn(64, 256, device=cuda), torch.zeros(STEPS, device=cuda)
    side, total = torch.cuda.Stream(), torch.zeros((), device=cuda)
    torch.cuda.synchronize()
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.mse_loss(net(x), x)
        losses[step].copy_(loss.detach())
        if not RACE:
            side.wait_stream(main_stream())
        with torch.cuda.stream(side):
            total += losses[step]
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.cuda.synchronize()
    return total / STEPS


def attention():
    """Attention in half precision, its keys and values made on two streams."""
    q = torch.randn(4, 8, 128, 64, device=cuda, dtype=torch.bfloat16)
    k, v = torch.empty_like(q), torch.empty_like(q)
    side, total = torch.cuda.Stream(), torch.zeros((), device=cuda)
    k.copy_(q), v.copy_(q)
    torch.cuda.synchronize()
    for step in range(STEPS):
        side.wait_stream(main_stream())
        with torch.cuda.stream(side):
            torch.mul(q, 0.5, out=v)
        torch.mul(q, 0.25, out=k)
        if not RACE:
            main_stream().wait_stream(side)
        total += F.scaled_dot_product_attention(q, k, v).float().mean()
    torch.cuda.synchronize()
    return total


def main():
    torch.manual_seed(1)
    cases = [conv, transformer, loader, freed, compiled, graphs, amp, attention]
    if len(sys.argv) < 2:
        print(*(case.__name__ for case in cases))
        return
    print(f"{float(globals()[sys.argv[1]]()):.4e}")


if __name__ == "__main__":
    main()
