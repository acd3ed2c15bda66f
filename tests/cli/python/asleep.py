# SPDX-License-Identifier: Apache-2.0
"""Waits in each turn until a host function has said that the device is done, as JAX's
block_until_ready does, for results that nothing uses."""
import ctypes
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
data, stream, done = ctypes.c_uint64(), ctypes.c_void_p(), threading.Event()
TURNS, BYTES = 8, 1 << 26


@FUNCTION
def takes_long(_):
    time.sleep(0.02)  # the first thread sleeps when the next function begins


@FUNCTION
def tell(_):
    done.set()


def submit(turn):
    for _ in range(40):
        cuda.cuMemsetD8Async(data, 1, BYTES, stream)
    cuda.cuLaunchHostFunc(stream, takes_long, None)
    cuda.cuLaunchHostFunc(stream, tell, None)
    if turn < TURNS // 2:  # the last call
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 256)
    else:
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 256)


def prepare():
    for _ in range(10):
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 256)


def wait_until_done():
    done.wait()  # the wait
    done.clear()


cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(ctypes.c_void_p()), 0, 0)
cuda.cuMemAlloc_v2(ctypes.byref(data), BYTES)
cuda.cuStreamCreate(ctypes.byref(stream), 1)
for turn in range(TURNS):
    submit(turn)
    wait_until_done()
    prepare()
cuda.cuCtxSynchronize()
