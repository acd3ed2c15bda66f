# SPDX-License-Identifier: Apache-2.0
"""In a mixture of experts each expert picks its rows by a mask: a tensor of booleans as an index
asks the device how many they are. The fix uses the indices, of which there is a fixed number."""
import time

import torch
import torch.nn.functional as F

import pair

TURNS, ROWS, WIDTH, DEPTH, EXPERTS = 60, 8192, 1024, 4, 8


def weights(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * shape[-2] ** -0.5


class Mixture:
    def __init__(self):
        self.gate = weights(WIDTH, EXPERTS)
        self.wide = weights(EXPERTS, WIDTH, 4 * WIDTH)
        self.narrow = weights(EXPERTS, 4 * WIDTH, WIDTH)
        self.rows = torch.arange(ROWS, device="cuda")

    def __call__(self, x, fixed):
        scores = (x @ self.gate).float().t()
        chosen = scores.topk(ROWS // EXPERTS, dim=1).indices.sort(dim=1).values
        mask = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, chosen, True)
        out = x.clone()
        for expert in range(EXPERTS):
            rows = chosen[expert] if fixed else self.rows[mask[expert]]  # the wait
            hidden = F.gelu(x[rows] @ self.wide[expert])
            out.index_add_(0, rows, hidden @ self.narrow[expert])
        return F.layer_norm(out, (WIDTH,))


@torch.no_grad()
def main(fixed):
    torch.manual_seed(0)
    layers = [Mixture() for _ in range(DEPTH)]
    x, total = weights(ROWS, WIDTH), torch.zeros((), device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        y = x
        for layer in layers:
            y = layer(y, fixed)
        total += y.float().abs().sum()
    torch.cuda.synchronize()
    pair.report(time.perf_counter() - begin, TURNS, total.item())


pair.run(main)
