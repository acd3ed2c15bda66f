# SPDX-License-Identifier: Apache-2.0
# Clean: one event, two consumers, which read the same tensor at the same time and write to their
# own. The producer's stream waits for both before it writes again.
import torch

ROUNDS = 8
MILLISECOND = 2_000_000  # cycles, about


def produce(data):
    torch.cuda._sleep(MILLISECOND)
    data += 1


def consume(data, total):
    total += data


def main():
    producer, readers = torch.cuda.Stream(), [torch.cuda.Stream() for _ in range(2)]
    data = torch.zeros(1 << 16, device="cuda")
    totals = [torch.zeros_like(data) for _ in readers]
    produce(data)
    consume(data, totals[0])
    torch.cuda.synchronize()
    for _ in range(ROUNDS):
        with torch.cuda.stream(producer):
            produce(data)
            event = producer.record_event()
        for reader, total in zip(readers, totals):
            with torch.cuda.stream(reader):
                reader.wait_event(event)
                consume(data, total)
            producer.wait_stream(reader)
    torch.cuda.synchronize()
    print(*(f"{total.sum().item():.1f}" for total in totals))


main()
