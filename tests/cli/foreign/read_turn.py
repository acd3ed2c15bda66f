# SPDX-License-Identifier: Apache-2.0
"""Reads a result in each turn; fixed, never."""
from device import TURNS, cuda, data, host, prepare, start, submit
import pair


def read():
    cuda.cuMemcpyDtoHAsync_v2(host, data, 64, None); cuda.cuStreamSynchronize(None)  # the wait


def main(fixed):
    for _ in range(TURNS):
        submit()
        if not fixed:
            read()
        prepare()
    cuda.cuCtxSynchronize()
    pair.report((90e-6 if fixed else 100e-6) * TURNS, TURNS, 7)


start()
pair.run(main)
