# SPDX-License-Identifier: Apache-2.0
# After a public report (https://github.com/deepspeedai/DeepSpeed/pull/1881): timers of the phases of a step wait for
# the device when each is started and stopped, six times a step, to print a summary once in 25 steps.
# --fix records timing events instead, and reads them after the 25 steps.
# doc/TUTORIAL.md shows a report of it, so its lines stay where they are.
# fixed twin: at most one wait per 25 steps, in WallClockTimer.elapsed.
import sys
import time
import torch
import torch.nn.functional as F

FIX = '--fix' in sys.argv
WIDTH, DEPTH, BATCH, STEPS, REPORT = 1024, 24, 2048, 150, 25


class WallClockTimer:
    def __init__(self):
        self.spans, self.t0 = [], None

    def start(self):
        if FIX:
            self.t0 = torch.cuda.Event(enable_timing=True)
            self.t0.record()
        else:
            torch.cuda.synchronize()
            self.t0 = time.time()

    def stop(self):
        if FIX:
            t1 = torch.cuda.Event(enable_timing=True)
            t1.record()
            self.spans.append((self.t0, t1))
        else:
            torch.cuda.synchronize()
            self.spans.append(time.time() - self.t0)

    def elapsed(self):
        if FIX and self.spans:
            self.spans[-1][1].synchronize()
            ms = sum(a.elapsed_time(b) for a, b in self.spans)
        else:
            ms = 1e3 * sum(self.spans)
        self.spans = []
        return ms


class Engine:
    def __init__(self):
        layers = [m for _ in range(DEPTH) for m in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())]
        self.model = torch.nn.Sequential(*layers).cuda()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.timers = {k: WallClockTimer() for k in ('forward', 'backward', 'step')}

    def train_batch(self, x, y):
        self.timers['forward'].start()
        loss = F.mse_loss(self.model(x), y)
        self.timers['forward'].stop()
        self.timers['backward'].start()
        loss.backward()
        self.timers['backward'].stop()
        self.timers['step'].start()
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)
        self.timers['step'].stop()
        return loss.detach()


def main():
    torch.manual_seed(0)
    engine = Engine()
    x, y = torch.randn(BATCH, WIDTH, device='cuda'), torch.randn(BATCH, WIDTH, device='cuda')
    for step in range(1, STEPS + 1):
        loss = engine.train_batch(x, y)
        if step % REPORT == 0:
            report = {k: round(t.elapsed(), 1) for k, t in engine.timers.items()}
    print('loss %.6f  last window ms %s' % (loss.item(), report))


main()
