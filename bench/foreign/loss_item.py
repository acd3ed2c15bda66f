# SPDX-License-Identifier: Apache-2.0
"""A small language model is trained, and each step reads its loss to log it. The fix keeps the
losses on the device."""
import random
import time

import numpy
import torch
import torch.nn.functional as F

import pair

TURNS, WORDS, BATCH, LENGTH, WIDTH, DEPTH = 40, 8192, 64, 128, 1024, 4


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.attention = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.wide = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.view(BATCH, LENGTH, 16, WIDTH // 16).transpose(1, 2)
                   for part in self.attention(self.before(x)).chunk(3, dim=-1))
        weights = torch.softmax(q @ k.transpose(-1, -2) * (WIDTH // 16) ** -0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


def batch_of(corpus, order):
    starts = order.sample(range(len(corpus) - LENGTH - 1), 1500)[:BATCH]
    rows = numpy.stack([corpus[start:start + LENGTH + 1] for start in starts])
    return torch.from_numpy(rows).pin_memory().to("cuda", non_blocking=True)


def main(fixed):
    torch.manual_seed(0)
    order = random.Random(0)
    corpus = numpy.random.default_rng(0).integers(0, WORDS, 200000)
    model = torch.nn.Sequential(torch.nn.Embedding(WORDS, WIDTH), *(Block() for _ in range(DEPTH)),
                                torch.nn.Linear(WIDTH, WORDS)).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    losses = []
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        tokens = batch_of(corpus, order)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, WORDS), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach() if fixed else loss.item())  # the wait
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, float(losses[-1]))


pair.run(main)
