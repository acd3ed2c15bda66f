# SPDX-License-Identifier: Apache-2.0
# layers.py: a program that runs the layers of a package, as torch.nn does: each call leads through
# three functions.
import ctypes
import os
import sys

PACKAGE = """
class Module:
    def wrapped(self):
        return self.call()

    def call(self):
        return self.forward()

    __call__ = wrapped


class Fill(Module):
    def __init__(self, fill):
        self.fill = fill

    def forward(self):
        self.fill()


class Block(Module):
    def __init__(self, fill):
        self.inner = Fill(fill)

    def forward(self):
        self.inner()


class Layer(Module):
    def __init__(self, fill):
        self.first, self.second = Block(fill), Block(fill)

    def forward(self):
        self.first()
        self.second()
"""

cuda = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()

os.makedirs("site-packages", exist_ok=True)
with open("site-packages/net.py", "w", encoding="utf-8") as file:
    file.write(PACKAGE)
sys.path.insert(0, "site-packages")
import net  # noqa: E402

cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(pointer), 4096)
layer = net.Layer(lambda: cuda.cuMemsetD8_v2(pointer, 0, 64))
for _ in range(10):
    layer()
