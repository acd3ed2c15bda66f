# SPDX-License-Identifier: Apache-2.0
"""server.py SOCKET torch|driver: a server for tests/gpu/servers.  Each of its connections is a thread with
a stream and a CUDA graph of its own; a request is a line and so is its answer, "ok" if the result is right.
Two mistakes are planted: each request waits for its result in the middle (.item()), and every eighth
gives memory back while work is pending.  "driver" does the second one alone, without PyTorch and graphs.
Prints "serving" when it is warm; ends with status 0 at SIGTERM."""
import ctypes
import os
import signal
import socket
import sys
import threading

CONNECTIONS = 4


def torch_workers():
    import torch

    torch.manual_seed(1)
    device = torch.device("cuda")
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(1024, 1024), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).to(device)
    weights = [torch.randn(1024, 1024, device=device) / 32 for _ in range(6)]

    class Worker:
        def __init__(self):
            self.stream, self.graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
            self.x = torch.zeros(256, 1024, device=device)
            self.host = torch.ones(256, 1024).pin_memory()
            with torch.no_grad():
                self.stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(self.stream):
                    for _ in range(3):
                        model(self.x)
                torch.cuda.synchronize()
                with torch.cuda.graph(self.graph, stream=self.stream):
                    self.y = model(self.x)
            torch.cuda.synchronize()
            self.wanted = None

        def enter(self):
            torch.cuda.set_device(0)

        def answer(self, number):
            with torch.no_grad(), torch.cuda.stream(self.stream):
                self.x.copy_(self.host, non_blocking=True)
                self.graph.replay()
                z = self.y
                for weight in weights:
                    z = torch.relu(z @ weight)
                if number % 8 == 0:
                    scratch = torch.ones(1 << 22, device=device)
                    scratch.mul_(2.0)
                    del scratch
                    torch.cuda.empty_cache()  # planted: frees
                score = z.mean().item()  # planted: waits
                z = torch.relu(z @ weights[0])
                total = z.mean() + score
                result = total.item()
            if self.wanted is None:
                self.wanted = result
            return abs(result - self.wanted) <= 0.01 * abs(self.wanted)

    return [Worker() for _ in range(CONNECTIONS)]


PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry serve(.param .u64 ns, .param .u64 data)
{
ret;
}
"""


def driver_workers():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} returned {status}")

    context, module, kernel = (ctypes.c_void_p() for _ in range(3))
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"serve")

    class Worker:
        def __init__(self):
            self.stream = ctypes.c_void_p()
            call("cuStreamCreate", ctypes.byref(self.stream), 1)

        def enter(self):
            call("cuCtxSetCurrent", context)

        def answer(self, number):
            memory, ns = ctypes.c_uint64(), ctypes.c_uint64(100000)
            call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4096))
            words = (ctypes.c_void_p * 2)(ctypes.addressof(ns), ctypes.addressof(memory))
            call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, self.stream, words, None)
            call("cuMemFree_v2", memory)  # planted: frees
            return True

    return [Worker() for _ in range(CONNECTIONS)]


def serve(connection, worker):
    number = 0
    worker.enter()
    with connection, connection.makefile("r") as lines:
        for _ in lines:
            try:
                said = "ok" if worker.answer(number) else "wrong"
            except RuntimeError as error:
                said = str(error).replace("\n", " ")
            number += 1
            connection.sendall(said.encode() + b"\n")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    workers = {"torch": torch_workers, "driver": driver_workers}[sys.argv[2]]()
    for worker in workers:
        for number in range(20):
            if not worker.answer(number):
                sys.exit("server.py: another result")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(CONNECTIONS)
    print("serving", os.getpid(), flush=True)
    for worker in workers:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, worker), daemon=True).start()
    while True:
        signal.pause()


main()
