# SPDX-License-Identifier: Apache-2.0
"""CuPy calls whose lines tests/gpu/python_sites looks for: # site FUNCTION KIND."""
import cupy


def make():
    return cupy.arange(1 << 16, dtype=cupy.float32)  # site make kernel


def root(x):
    return cupy.sqrt(x)  # site root kernel


def read(x):
    return cupy.asnumpy(x)  # site read memcpy


def main():
    x = make()
    total = 0.0
    for step in range(5):
        total += float(read(root(x))[1])
    print(total)


main()
