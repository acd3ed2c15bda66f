# SPDX-License-Identifier: Apache-2.0
"""Whether the core runs at full speed, told by how long fixed work of the interpreter takes: on a
core whose other hardware thread is busy, with whatever program, it takes 1.3 to 2 times as long.
`python3 undisturbed.py` prints the ns of an undisturbed core of this machine; bench/workload.cu has
the same for programs in C."""
import os
import time


def _work():
    start = time.monotonic_ns()
    x = 1
    for i in range(1500):
        x = (x * 5 + i) & 0xffff
    return time.monotonic_ns() - start


def calibrate():
    """ns; the quickest of three, which an interrupt leaves alone and a busy neighbour does not."""
    return min(_work(), _work(), _work())


def quickest_core():
    """ns to calibrate on the quickest allowed core: of each visit the lower quartile, as a single
    one may be too quick to be had again.  Leaves the caller bound to the last core."""
    typical = []
    for core in sorted(os.sched_getaffinity(0)) * 5:
        os.sched_setaffinity(0, {core})
        typical.append(sorted(calibrate() for _ in range(40))[10])
    return min(typical)


if __name__ == "__main__":
    print(quickest_core())
