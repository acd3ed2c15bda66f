# SPDX-License-Identifier: Apache-2.0
# loops.py NAME: a program whose steps cufence must count.  The line after "# loop NAME TURNS" is that
# of its loop; nested ones are marked "# inner NAME TURNS".
import ctypes
import queue
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")
LAYERS = 12
context, pointer, other = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()


def work():
    cuda.cuMemsetD8_v2(pointer, 0, 64)


def more():
    cuda.cuMemsetD8_v2(other, 1, 64)


def wait():
    cuda.cuCtxSynchronize()


class Linear:
    def forward(self):
        work()
        more()


class Net:
    def __init__(self):
        self.layers = [Linear() for _ in range(LAYERS)]
        for _ in self.layers:
            cuda.cuMemsetD8_v2(pointer, 2, 64)

    def forward(self):
        for layer in self.layers:
            layer.forward()  # inner training 12


class Backward(threading.Thread):
    """A thread that follows: it works when the step tells it to, most of all."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked, self.done = queue.Queue(), queue.Queue()
        self.start()

    def run(self):
        cuda.cuCtxSetCurrent(context)
        while self.asked.get():
            for _ in range(3 * LAYERS):
                work()
                more()
            self.done.put(True)
        self.done.put(True)

    def pass_back(self, go_on):
        self.asked.put(go_on)
        self.done.get()


class Engine:
    def __init__(self):
        self.net, self.backward = Net(), Backward()

    def train_batch(self):
        wait()
        self.net.forward()
        more()
        self.backward.pass_back(True)
        work()


def training():
    engine = Engine()
    for _ in range(40):
        engine.train_batch()  # loop training 40
    engine.backward.pass_back(False)
    wait()


def train():
    for _ in range(20):
        work()  # loop epochs 60
        more()
        work()


def epochs():
    for _ in range(3):
        train()
        wait()


def epochs_in_place():
    for _ in range(3):
        for _ in range(20):
            work()  # loop epochs_in_place 60
            more()
        wait()


def logged():
    for step in range(100):
        work()  # loop logged 100
        more()
        if step % 25 == 24:
            wait()
            cuda.cuMemsetD8_v2(pointer, 3, 64)


def branches():
    for step in range(40):
        if step % 2:
            work()  # loop branches 40
            work()
        else:
            more()  # loop branches 40
            more()
        wait()  # loop branches 40


def tokens():
    for _ in range(30):
        more()  # loop tokens 30
        for _ in range(LAYERS):
            work()  # inner tokens 12
            more()
        wait()


def lines_of_one_call():
    for _ in range(30):
        work()  # loop lines_of_one_call 30


def repeat(count):
    for _ in range(count):
        work()  # loop warmed 50
        more()


def warmed():
    repeat(5)
    wait()
    repeat(50)
    wait()


def batches():
    for _ in range(25):
        work()
        yield more


def generated():
    for batch in batches():  # loop generated 25
        batch()  # loop generated 25
        wait()


class Nested:
    """Calls that are deeper than the frames that a trace keeps, beside others that are not."""

    def down_4(self):
        work()

    def down_3(self):
        self.down_4()

    def down_2(self):
        self.down_3()

    def down_1(self):
        self.down_2()


def nested_step(nested):
    nested.down_1()
    more()
    more()


def nested_steps(nested):
    for _ in range(30):
        nested_step(nested)  # loop nested 30
        wait()  # loop nested 30


def nested():
    nested_steps(Nested())


def compiled():
    """A first turn with many calls that never come again: they compile and tune."""
    for step in range(10):
        if not step:
            exec("work(); more(); wait()\n" * 40)
        work()  # loop compiled 10
        more()


def prepared():
    more()
    for _ in range(2 * LAYERS):
        more()
        work()
    for _ in range(40):
        work()  # loop called 120
        more()
        work()
    wait()


def called():
    """Set-up in each call, and the loop."""
    for _ in range(3):
        prepared()


def evaluated():
    """What follows the layers is a part of the step as well."""
    for _ in range(3):
        work()  # loop evaluated 3
        for _ in range(4 * LAYERS):
            work()  # inner evaluated 48
            more()
            work()
        for _ in range(8):
            more()  # loop evaluated 3
            work()  # loop evaluated 3
            more()  # loop evaluated 3
        wait()


def nothing():
    work(); more()
    wait()
    cuda.cuMemsetD8_v2(pointer, 4, 64)
    more()


cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(pointer), 4096)
cuda.cuMemAlloc_v2(ctypes.byref(other), 4096)
globals()[sys.argv[1]]()
