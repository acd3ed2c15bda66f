# SPDX-License-Identifier: Apache-2.0
# Clocks that are read after waits: by the program, and by locks for their timeouts.  The machine may
# be busy: of as many times one is quick enough.
import ctypes
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
lock, event = threading.Lock(), threading.Event()


def read_time():
    cuda.cuStreamSynchronize(None)
    return time.time()


def read_counter():
    cuda.cuStreamSynchronize(None)
    return time.perf_counter()


def try_lock():
    cuda.cuStreamSynchronize(None)
    return lock.acquire(True, 0.0001)


def try_event():
    cuda.cuStreamSynchronize(None)
    return event.wait(0.0001)


cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
lock.acquire()
for i in range(40):
    read_time()
    read_counter()
    try_lock()
    try_event()
