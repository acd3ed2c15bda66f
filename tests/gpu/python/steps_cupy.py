# SPDX-License-Identifier: Apache-2.0
"""steps_cupy.py NAME [race]: 200 steps with CuPy on two streams that wait for each other, or, with "race",
with one wait left out."""
import sys

import cupy

STEPS = 200
RACE = "race" in sys.argv[2:]


def streams():
    return [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]


def wait(waiting, other):
    waiting.wait_event(other.record())


def steps(make, use, x, y):
    """One stream makes y out of x, the other one uses it."""
    first, second = streams()
    total = cupy.zeros(y.shape[-1], dtype=cupy.float32)
    for stream in (first, second):  # nothing is compiled or loaded in the middle
        cupy.cuda.Device().synchronize()
        with stream:
            make(x, y)
            use(y, total)
    cupy.cuda.Device().synchronize()
    for _ in range(STEPS):
        if not RACE:
            wait(first, second)
        with first:
            make(x, y)
        wait(second, first)
        with second:
            use(y, total)
    cupy.cuda.Device().synchronize()
    return total.sum()


def add_up(y, total):
    total += cupy.abs(y).sum(axis=0)


def elementwise():
    x = cupy.arange(1 << 16, dtype=cupy.float32).reshape(256, 256)
    return steps(lambda x, y: cupy.sqrt(x, out=y), add_up, x, cupy.empty_like(x))


def fft():
    x = cupy.ones((64, 256), dtype=cupy.complex64)
    return steps(lambda x, y: cupy.copyto(y, cupy.fft.fft(x)), add_up, x, cupy.empty_like(x))


def product():
    x = cupy.ones((256, 256), dtype=cupy.float32)
    return steps(lambda x, y: cupy.matmul(x, x, out=y), add_up, x, cupy.empty_like(x))


def main():
    cases = [elementwise, fft, product]
    if len(sys.argv) < 2:
        print(*(case.__name__ for case in cases))
        return
    print(f"{float(globals()[sys.argv[1]]()):.4e}")


main()
