# SPDX-License-Identifier: Apache-2.0
# reads.py [--unread]: each turn submits work, tests two results of the device on the host, as a loop
# that generates tokens tests whether to stop, and prepares the next turn.  Without one of the tests the
# other one waits in its place.
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context, data, done, host = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p()
TURNS, READ = 40, "--unread" not in sys.argv


def item():
    cuda.cuMemcpyDtoHAsync_v2(host, done, 4, None); cuda.cuStreamSynchronize(None)


def tolist():
    cuda.cuMemcpyDtoHAsync_v2(host, data, 64, None); cuda.cuStreamSynchronize(None)


def submit():
    for _ in range(4):
        cuda.cuMemsetD8Async(data, 1, 1 << 28, None)


def prepare():
    for _ in range(100):
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 256)


cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
cuda.cuMemAlloc_v2(ctypes.byref(data), 1 << 28)
cuda.cuMemAlloc_v2(ctypes.byref(done), 256)
cuda.cuMemAllocHost_v2(ctypes.byref(host), 64)
for turn in range(TURNS):
    submit()
    if READ:
        item()
        tolist()
    prepare()
cuda.cuCtxSynchronize()
