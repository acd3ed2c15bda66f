# SPDX-License-Identifier: Apache-2.0
# As much of PyTorch's interface as a script about streams needs, by calls of the driver.
import contextlib
import ctypes

driver = ctypes.CDLL("libcuda.so.1")
BYTES = ctypes.c_size_t(1 << 20)


class Stream:
    def __init__(self):
        self.handle = ctypes.c_void_p()
        driver.cuStreamCreate(ctypes.byref(self.handle), 1)

    def wait_stream(self, other):
        event = ctypes.c_void_p()
        driver.cuEventCreate(ctypes.byref(event), 2)
        driver.cuEventRecord(event, other.handle)
        driver.cuStreamWaitEvent(self.handle, event, 0)


class Tensor:
    def __init__(self, freed=None):  # an allocator gives out the memory of a tensor that is no more
        self.memory = freed.memory if freed else ctypes.c_uint64()
        if not freed:
            driver.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(4 << 20))

    def fill_(self, value):
        driver.cuMemsetD8Async(self.memory, ctypes.c_ubyte(value), BYTES, cuda.current.handle)

    def copy_(self, other):
        driver.cuMemcpyDtoDAsync_v2(self.memory, other.memory, BYTES, cuda.current.handle)


class cuda:
    Stream = Stream

    def current_stream():
        return cuda.current

    def synchronize():
        driver.cuCtxSynchronize()

    @contextlib.contextmanager
    def stream(stream):
        cuda.current, before = stream, cuda.current
        yield
        cuda.current = before


context = ctypes.c_void_p()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
cuda.current = type("Default", (Stream,), {"__init__": lambda self: setattr(self, "handle", None)})()
