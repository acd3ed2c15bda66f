# SPDX-License-Identifier: Apache-2.0
# plans.py [--kept | --other | --larger]: each turn a line calls a library that makes a plan, uses it once and
# destroys it: code is loaded, a table is allocated and filled, and after the kernel, for which that
# waits, both go again.  --kept: one plan for all turns.  --other: each second plan is of other code of
# the same name.  --larger: ... has a larger table.
import ctypes
import pathlib
import re
import sys
from functools import partial

cuda = ctypes.CDLL("libcuda.so.1")
text = (pathlib.Path(__file__).parents[3] / "testapps/module.h").read_text()
NAME = re.search(r'ADD_ONE_NAME\[\] = "(.*)"', text)[1]
CODE = re.search(r'R"\((.*?)\)"', text, re.S)[1]
TURNS, BYTES = 40, 1 << 20
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
data, table = ctypes.c_uint64(), ctypes.c_uint64()
spin = ctypes.c_uint64(1000000)
words = (ctypes.c_void_p * 2)(ctypes.addressof(spin), ctypes.addressof(data))
host = ctypes.create_string_buffer(2 * BYTES)


def plan_of(code, bytes):
    return [partial(cuda.cuModuleLoadData, ctypes.byref(module), code.encode()),
            partial(cuda.cuModuleGetFunction, ctypes.byref(function), module, NAME.encode()),
            partial(cuda.cuMemAlloc_v2, ctypes.byref(table), bytes),
            partial(cuda.cuMemcpyHtoD_v2, table, host, bytes)]


use = [partial(cuda.cuLaunchKernel, function, 1, 1, 1, 256, 1, 1, 0, None, words, None)]
end = [partial(cuda.cuModuleUnload, module), partial(cuda.cuMemFree_v2, table)]
other = CODE.replace("0f3F800000", "0f40000000") if "--other" in sys.argv else CODE
plans = [plan_of(CODE, BYTES), plan_of(other, BYTES + 4096 * ("--larger" in sys.argv))]


def transform(calls):
    assert not any([call() for call in calls])


def prepare():
    for _ in range(50):
        cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 256)


cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
cuda.cuMemAlloc_v2(ctypes.byref(data), 1 << 12)
if "--kept" in sys.argv:
    transform(plans[0])
for turn in range(TURNS):
    transform(use if "--kept" in sys.argv else plans[turn % 2] + use + end)
    prepare()
cuda.cuCtxSynchronize()
if "--kept" in sys.argv:
    transform(end)
