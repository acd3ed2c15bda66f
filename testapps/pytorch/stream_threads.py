# SPDX-License-Identifier: Apache-2.0
# Clean: preprocessing threads, each with a stream and tensors of its own, each waiting for its own
# stream only.
import threading

import torch

THREADS = 4
STEPS = 8
MILLISECOND = 2_000_000  # cycles, about


def preprocess(data):
    torch.cuda._sleep(MILLISECOND)
    data += 1


def work(data):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(STEPS):
            preprocess(data)
    stream.synchronize()


def main():
    tensors = [torch.zeros(1 << 16, device="cuda") for _ in range(THREADS)]
    preprocess(tensors[0])
    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(data,)) for data in tensors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*(f"{data.sum().item():.1f}" for data in tensors))


main()
