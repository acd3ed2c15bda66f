# SPDX-License-Identifier: Apache-2.0
"""The turns of two pairs of programs for the simulated device."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
data, host = ctypes.c_uint64(), ctypes.c_void_p()
TURNS, BYTES = 8, 1 << 23


def start():
    cuda.cuInit(0)
    cuda.cuCtxCreate_v2(ctypes.byref(ctypes.c_void_p()), 0, 0)
    cuda.cuMemAlloc_v2(ctypes.byref(data), BYTES)
    cuda.cuMemAllocHost_v2(ctypes.byref(host), 64)


def submit():
    for _ in range(4):
        cuda.cuMemsetD8Async(data, 1, BYTES, None)


def prepare():
    """Takes simulated time."""
    for _ in range(10):
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 256)
