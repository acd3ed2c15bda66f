# SPDX-License-Identifier: Apache-2.0
"""Calls of libraries for tests/gpu/truth, a function each, through CuPy."""
import ctypes

import cupy
import numpy

random = numpy.random.default_rng(1)


def ready(library):
    """Before the first CUDA call."""
    truth = ctypes.CDLL(library)
    truth.truth_malloc.restype = ctypes.c_void_p
    truth.truth_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    own = cupy.cuda.PythonFunctionAllocator(
        lambda size, device: truth.truth_malloc(size, device, None) or 0,
        lambda address, device: None)
    cupy.cuda.set_allocator(own.malloc)


def done():
    cupy.cuda.Device().synchronize()


def rand(*shape, dtype=numpy.float32):
    return cupy.asarray(random.standard_normal(shape).astype(dtype))


def elementwise():
    x, y = rand(5000), rand(5000)
    cupy.sqrt(x * x + y)
    x += y


def fused():
    cupy.fuse(lambda x, y: cupy.exp(x) * y + 1)(rand(3000), rand(3000))


def reductions():
    x = rand(300, 200)
    x.sum()
    x.max(axis=0)
    x.argmax(axis=1)


def scan():
    cupy.cumsum(rand(40000))


def sort():
    cupy.sort(rand(5000))


def argsort():
    cupy.argsort(rand(50, 70), axis=1)


def product():
    rand(128, 128) @ rand(128, 128)


def vectors():
    import cupy.cublas
    x, y = rand(10000), rand(10000)
    cupy.cublas.axpy(2.0, x, y)
    cupy.cublas.scal(2.0, x)
    cupy.cublas.dot(x, y)
    cupy.cublas.nrm2(x)
    cupy.cublas.asum(x)
    cupy.cublas.iamax(x)


def matrices():
    import cupy.cublas
    x = cupy.asfortranarray(rand(64, 64))
    cupy.cublas.gemv("N", 1.0, x, rand(64), 0.0, rand(64))
    cupy.cublas.ger(1.0, rand(64), rand(64), x)
    cupy.cublas.syrk("N", x)
    cupy.cublas.geam("N", "T", 1.0, x, 1.0, x)
    cupy.cublas.dgmm("L", x, rand(64))


def product_by_pointers():
    """A batch whose matrices are given by arrays of pointers."""
    from cupy_backends.cuda.libs import cublas
    a, b, c = rand(8, 32, 32), rand(8, 32, 32), cupy.zeros((8, 32, 32), numpy.float32)
    tables = [cupy.asarray(numpy.array([x.data.ptr + i * x.strides[0] for i in range(8)],
                                       dtype=numpy.uint64)) for x in (a, b, c)]
    one, none = numpy.array(1, numpy.float32), numpy.array(0, numpy.float32)
    cublas.sgemmBatched(cupy.cuda.device.get_cublas_handle(), 0, 0, 32, 32, 32, one.ctypes.data,
                        tables[0].data.ptr, 32, tables[1].data.ptr, 32, none.ctypes.data,
                        tables[2].data.ptr, 32, 8)


def fft():
    cupy.fft.fft(rand(8, 512).astype(numpy.complex64))
    cupy.fft.rfft2(rand(64, 60))


def sparse():
    import cupyx.scipy.sparse
    a = cupyx.scipy.sparse.random(200, 100, 0.1, format="csr", dtype=numpy.float32)
    a @ rand(100)
    a.T.tocsr()
    a @ a.T


def solve():
    a = rand(40, 40)
    cupy.linalg.solve(a @ a.T + 40 * cupy.eye(40, dtype=numpy.float32), rand(40))


def convolve():
    import cupyx.scipy.ndimage
    cupyx.scipy.ndimage.gaussian_filter(rand(64, 64), 1.5)


CASES = {name: case for name, case in list(globals().items())
         if callable(case) and getattr(case, "__module__", "") == __name__
         and hasattr(case, "__code__") and case.__code__.co_argcount == 0
         and name not in ("done", "rand")}
