# SPDX-License-Identifier: Apache-2.0
# The result of a search step is copied to pinned memory, and the script waits for the whole device
# before it reads it: also for the picture that another stream draws every fourth step.
# The tensors are large enough for allocations of their own: parts of one segment of the caching
# allocator could be the same memory, and the wait the order they need.
# Better: an event behind the copy, and event.synchronize().
import torch

STEPS = 24
MILLISECOND = 2_000_000  # cycles, about


def search(state, result):
    torch.cuda._sleep(MILLISECOND)
    state += 1
    result.copy_(state[:1024], non_blocking=True)


def draw(picture):
    torch.cuda._sleep(6 * MILLISECOND)
    picture += 1


def wait_for_result():
    torch.cuda.synchronize()


def main():
    searching, drawing = torch.cuda.Stream(), torch.cuda.Stream()
    state = torch.zeros(1 << 22, device="cuda")
    picture = torch.zeros(1 << 22, device="cuda")
    result = torch.zeros(1024, pin_memory=True)
    total = 0.0
    search(state, result)
    draw(picture)
    torch.cuda.synchronize()
    for i in range(STEPS):
        if i % 4 == 0:
            with torch.cuda.stream(drawing):
                draw(picture)
        with torch.cuda.stream(searching):
            search(state, result)
        wait_for_result()
        total += result[0].item()
    print(f"{total:.1f}")


main()
