# SPDX-License-Identifier: Apache-2.0
# uploads.py [--pinned]: each turn a batch goes to the device, from the same memory again and again,
# and the line waits for it, as .to("cuda") of PyTorch does for pageable memory; then it is worked on
# while the host prepares the next one.  From pinned memory the copy takes less, and nothing waits
# for it.
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context, data, host = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
TURNS, BYTES, PINNED = 20, 1 << 24, "--pinned" in sys.argv


def to_device():
    cuda.cuMemcpyHtoDAsync_v2(data, host, BYTES, None); PINNED or cuda.cuStreamSynchronize(None)


def work():
    for _ in range(4):
        cuda.cuMemsetD8Async(data, 1, 1 << 28, None)


def prepare():
    for _ in range(100):
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 256)


cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
cuda.cuMemAlloc_v2(ctypes.byref(data), 1 << 28)
if PINNED:
    cuda.cuMemAllocHost_v2(ctypes.byref(host), BYTES)
else:
    memory = ctypes.create_string_buffer(BYTES)
    host = ctypes.c_void_p(ctypes.addressof(memory))
for turn in range(TURNS):
    to_device()
    work()
    prepare()
cuda.cuCtxSynchronize()
