# SPDX-License-Identifier: Apache-2.0
# Clean: products on the default stream and on a stream of PyTorch's pool, in turn, small enough to
# leave room on the device. Pool streams are non-blocking: they overlap with the default stream.
import torch

PRODUCTS = 200


def multiply(a, b):
    torch.mm(a, a, out=b)


def main():
    side = torch.cuda.Stream()
    tensors = [[torch.rand(256, 256, device="cuda"), torch.zeros(256, 256, device="cuda")]
               for _ in range(2)]
    for a, b in tensors:
        multiply(a, b)
    with torch.cuda.stream(side):
        multiply(*tensors[1])
    torch.cuda.synchronize()
    for _ in range(PRODUCTS):
        multiply(*tensors[0])
        with torch.cuda.stream(side):
            multiply(*tensors[1])
    torch.cuda.synchronize()
    print("done")


main()
