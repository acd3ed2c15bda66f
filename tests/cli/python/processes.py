# SPDX-License-Identifier: Apache-2.0
"""Starts processes that use CUDA, as Python programs do: fork, spawn, forkserver, launch or env.
With missing: one that does not exist, between calls of its own."""
import ctypes
import multiprocessing
import os
import subprocess
import sys


def use_cuda(rank):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory = ctypes.c_void_p(), ctypes.c_ulonglong()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    for _ in range(10 + rank):
        assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
        assert cuda.cuMemsetD8_v2(memory, ctypes.c_ubyte(0), ctypes.c_size_t(4096)) == 0
        assert cuda.cuMemFree_v2(memory) == 0


def main(how):
    if how == "worker":
        use_cuda(int(os.environ["RANK"]))
        return 0
    if how in ("launch", "env"):
        # As torchrun does: a process per rank, each with an environment of its own.
        command = [sys.executable, __file__, "worker"]
        base = os.environ if how == "launch" else {"LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]}
        ranks = [subprocess.Popen(command, env={**base, "RANK": str(rank)}) for rank in range(2)]
        return sum(rank.wait() for rank in ranks)
    if how == "missing":
        use_cuda(0)
        try:
            subprocess.run(["/nonexistent"])
        except FileNotFoundError:
            use_cuda(1)
        return 0
    context = multiprocessing.get_context(how)
    workers = [context.Process(target=use_cuda, args=(rank,)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(worker.exitcode for worker in workers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
