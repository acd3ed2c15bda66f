# SPDX-License-Identifier: Apache-2.0
# policies.py FOLDER: calls that policies forbid, made by the script itself, by a package in FOLDER for
# the script, by a thread of that package, and while a stream captures.
import ctypes
import sys

sys.path.insert(0, sys.argv[1] + "/site-packages")
import package

cuda = ctypes.CDLL("libcuda.so.1")
context, stream, data, graph = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
pageable = ctypes.create_string_buffer(64)


def upload(to):
    cuda.cuMemcpyHtoDAsync_v2(data, pageable, 64, to)  # upload


def capture():
    cuda.cuStreamBeginCapture_v2(stream, 2)
    upload(stream)  # captured
    cuda.cuStreamEndCapture(stream, ctypes.byref(graph))


def ask():
    cuda.cuStreamQuery(None)


def allocate_in_order():
    pool = ctypes.c_uint64()
    cuda.cuMemAllocAsync(ctypes.byref(pool), 64, stream)
    cuda.cuMemFree_v2(pool)  # in stream order
    cuda.cuMemFree_v2(ctypes.c_uint64(0))  # nothing


cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
cuda.cuStreamCreate(ctypes.byref(stream), 1)
cuda.cuMemAlloc_v2(ctypes.byref(data), 64)
cuda.cuMemsetD8Async(data, 0, 64, None)  # default stream
package.wait(cuda, stream)  # by a package
package.wait_in_thread(cuda, stream)
capture()
ask()
allocate_in_order()
upload(stream)  # at once
cuda.cuMemFree_v2(data)  # free
