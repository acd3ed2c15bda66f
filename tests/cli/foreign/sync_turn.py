# SPDX-License-Identifier: Apache-2.0
"""Waits for the device in each turn; fixed, at the end."""
from device import TURNS, cuda, prepare, start, submit
import pair


def main(fixed):
    for _ in range(TURNS):
        submit()
        if not fixed:
            cuda.cuCtxSynchronize()  # the wait
        prepare()
    cuda.cuCtxSynchronize()
    pair.report((90e-6 if fixed else 100e-6) * TURNS, TURNS, 7)


start()
pair.run(main)
