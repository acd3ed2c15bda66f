# SPDX-License-Identifier: Apache-2.0
# Clean: a producer stream records an event behind its work, the consumer stream waits for it and
# then uses the result. Both are told to the allocator by record_stream.
import torch

ROUNDS = 10
MILLISECOND = 2_000_000  # cycles, about


def produce(data):
    torch.cuda._sleep(MILLISECOND)
    return data * 2


def consume(data, total):
    total += data.sum(dim=0)


def main():
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    data = torch.ones(256, 1024, device="cuda")
    total = torch.zeros(1024, device="cuda")
    consume(produce(data), total)
    torch.cuda.synchronize()
    for _ in range(ROUNDS):
        with torch.cuda.stream(producer):
            made = produce(data)
            event = producer.record_event()
        with torch.cuda.stream(consumer):
            consumer.wait_event(event)
            made.record_stream(consumer)
            consume(made, total)
    torch.cuda.synchronize()
    print(f"{total.sum().item():.1f}")


main()
