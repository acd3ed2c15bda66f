# SPDX-License-Identifier: Apache-2.0
# Two streams made by cudaStreamCreate in a library are used from PyTorch as external streams; an
# extension launches its kernel without a stream in between: in the legacy default stream, as
# PyTorch's own default stream is. Such streams are blocking ones: the three never overlap.
# Better: streams of PyTorch's pool, or cudaStreamNonBlocking in the library.
import ctypes

import torch

STEPS = 20
MILLISECOND = 2_000_000  # cycles, about


def create_stream(runtime):
    handle = ctypes.c_void_p()
    assert runtime.cudaStreamCreate(ctypes.byref(handle)) == 0
    return torch.cuda.ExternalStream(handle.value)


def advance():
    torch.cuda._sleep(2 * MILLISECOND)


def run_extension(data):
    data.mul_(2)


def main():
    data = torch.ones(1 << 14, device="cuda")
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "libcudart" in line)
    runtime = ctypes.CDLL(library)
    streams = [create_stream(runtime) for _ in range(2)]
    advance()
    run_extension(data)
    torch.cuda.synchronize()
    for _ in range(STEPS):
        for stream in streams:
            with torch.cuda.stream(stream):
                advance()
            run_extension(data)
    torch.cuda.synchronize()
    print(f"{data.sum().item():.4e}")


main()
