# SPDX-License-Identifier: Apache-2.0
"""A simulation brings a profile of its state to the host after each step, to write it at the end.
The fix keeps the profiles on the device until then."""
import time

import cupy
import numpy

import pair

TURNS, COUNT = 150, 1 << 24


def forcing(rng, turn):
    """The forces of a step, drawn on the host."""
    return rng.normal(size=1 << 15).astype(numpy.float32).cumsum() * numpy.float32(1e-6)


def main(fixed):
    rng, profiles = numpy.random.default_rng(0), []
    place, speed = (cupy.zeros(COUNT, dtype=cupy.float32) for _ in range(2))
    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    for turn in range(TURNS):
        force = cupy.asarray(forcing(rng, turn))
        for _ in range(4):
            speed += cupy.tile(force, COUNT // force.size) - 0.01 * place
            place += 0.5 * speed
        profile = place.reshape(-1, 1 << 12).mean(axis=0)
        profiles.append(profile if fixed else cupy.asnumpy(profile))  # the wait
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - begin
    pair.report(seconds, TURNS, sum(float(abs(profile).sum()) for profile in profiles))


pair.run(main)
