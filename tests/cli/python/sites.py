# SPDX-License-Identifier: Apache-2.0
# Calls CUDA in every way a Python program does.  Each line with a call says what function it is
# in; tests/cli/python.sh expects exactly these lines.  ctypes releases the GIL around calls.
import atexit
import ctypes
import multiprocessing
import os
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    assert result == 0, result


class Device:
    """A context and memory; made anew in a child."""

    def __init__(self):
        context = ctypes.c_void_p()
        self.pointer = ctypes.c_uint64()
        check(cuda.cuInit(0))
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(cuda.cuCtxSetCurrent(context))
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.pointer), 4096))
        self.context = context

    def set(self):
        cuda.cuMemsetD8_v2(self.pointer, 0, 64)  # site Device.set


device = None


def touch():
    cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site touch


def several_lines():
    cuda.cuMemsetD8_v2(  # site several_lines
        device.pointer,
        0,
        64)


def generator():
    for i in range(3):
        cuda.cuMemsetD8_v2(device.pointer, i, 64)  # site generator
        yield i


def drive(items):
    for item in items:
        pass
    return [cuda.cuMemsetD8_v2(device.pointer, 0, 64) for i in range(2)]  # site comprehension


def deep(n):
    if n:
        return deep(n - 1)
    return cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site deep


def größe():
    cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site größe


def nested():
    def inner():
        cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site nested.<locals>.inner
    inner()
    (lambda: cuda.cuMemsetD8_v2(device.pointer, 0, 64))()  # site nested.<locals>.<lambda>


def from_c():
    """C code (qsort) calls back into Python."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    @kind
    def compare(a, b):
        cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site from_c.<locals>.compare
        return 0
    array = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(array, 2, 4, compare)


def made_anew():
    """Code objects are freed and their memory is used again, 200 times."""
    for i in range(200):
        exec(compile("cuda.cuMemsetD8_v2(device.pointer, 0, 64)", "made%d.py" % i, "exec"))


def made_alike():
    """The same, and only the line distinguishes them."""
    for i in range(1, 31):
        exec(compile("\n" * i + "cuda.cuMemsetD8_v2(device.pointer, 0, 64)", "made_alike.py", "exec"))


def many():
    """More than are kept near, each called twice."""
    codes = [compile("cuda.cuMemsetD8_v2(device.pointer, 0, 64)", "many%d.py" % i, "exec") for i in range(3000)]
    for code in codes + codes:
        exec(code)


def worker(stop):
    cuda.cuCtxSetCurrent(device.context)
    while not stop.is_set():
        cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site worker


def threads():
    """While these run, the main thread's frames come and go."""
    stop = threading.Event()
    workers = [threading.Thread(target=worker, args=(stop,)) for i in range(4)]
    for w in workers:
        w.start()
    for i in range(300):
        busy = [deep(n) for n in (1, 3)]
        sum(range(1000), len(busy))
    stop.set()
    for w in workers:
        w.join()


def child():
    global device
    device = Device()
    cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site child


def processes(how):
    p = multiprocessing.get_context(how).Process(target=child)
    p.start()
    p.join()
    check(p.exitcode)


def late():
    cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site late


begun = threading.Event()


def endless():
    cuda.cuCtxSetCurrent(device.context)
    while True:
        cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site endless
        begun.set()


def main():
    global device
    processes("fork")  # CUDA that was initialized before a fork is no good after it
    device = Device()
    sys.setrecursionlimit(20000)
    atexit.register(late)
    device.set()
    touch()
    several_lines()
    drive(generator())
    deep(1)
    deep(2000)
    größe()
    nested()
    from_c()
    made_anew()
    made_alike()
    many()
    threads()
    processes("spawn")
    # Daemon threads still call when the interpreter ends.
    for i in range(3):
        threading.Thread(target=endless, daemon=True).start()
    begun.wait()
    cuda.cuMemsetD8_v2(device.pointer, 0, 64)  # site main
    print("done", os.getpid())


if __name__ == "__main__":
    main()
