# SPDX-License-Identifier: Apache-2.0
# Copies in both directions could overlap, but memory is freed between them: cuMemFree waits.
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
BYTES = ctypes.c_size_t(16 << 20)


def submit(there, back):
    cuda.cuMemcpyHtoDAsync_v2(device[0], host[0], BYTES, there)
    hold_up()
    cuda.cuMemcpyDtoHAsync_v2(host[1], device[1], BYTES, back)
    hold_up()


def hold_up():
    scratch = ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(scratch), ctypes.c_size_t(4096))
    cuda.cuMemFree_v2(scratch)


context, streams = ctypes.c_void_p(), (ctypes.c_void_p(), ctypes.c_void_p())
device, host = (ctypes.c_uint64(), ctypes.c_uint64()), (ctypes.c_void_p(), ctypes.c_void_p())
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
for i in range(2):
    cuda.cuStreamCreate(ctypes.byref(streams[i]), 1)
    cuda.cuMemAlloc_v2(ctypes.byref(device[i]), BYTES)
    cuda.cuMemAllocHost_v2(ctypes.byref(host[i]), BYTES)
for step in range(50):
    submit(*streams)
cuda.cuCtxSynchronize()
