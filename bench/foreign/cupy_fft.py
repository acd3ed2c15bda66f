# SPDX-License-Identifier: Apache-2.0
"""A filter in the frequency domain runs with CuPy's cache of FFT plans switched off, to save
memory: each call makes a plan and frees it. The fix leaves the cache on."""
import time

import cupy

import pair

TURNS, BATCH, SIZE = 60, 8, 1024


def main(fixed):
    cupy.fft.config.get_plan_cache().set_size(16 if fixed else 0)
    wave = cupy.sin(cupy.arange(BATCH * SIZE * SIZE, dtype=cupy.float32))
    picture = wave.reshape(BATCH, SIZE, SIZE).astype(cupy.complex64)
    kernel = cupy.exp(-cupy.arange(SIZE, dtype=cupy.float32) / SIZE)
    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    for _ in range(TURNS):
        for _ in range(3):
            spectrum = cupy.fft.fft2(picture, axes=(1, 2))  # the wait
            picture = cupy.fft.ifft2(spectrum * kernel, axes=(1, 2))  # the wait
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - begin
    pair.report(seconds, TURNS, float(cupy.absolute(picture).sum(dtype=cupy.float64)))


pair.run(main)
