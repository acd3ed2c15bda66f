# SPDX-License-Identifier: Apache-2.0
"""CuPy: element-wise kernels made by NVRTC, a product, two streams."""
import cupy

x = cupy.arange(1 << 16, dtype=cupy.float32).reshape(256, 256)
streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
cupy.cuda.Device().synchronize()
total = 0.0
for step in range(10):
    with streams[step % 2]:
        total += float((cupy.sqrt(x) @ x).sum())
print(f"{total:.6e}")
