# SPDX-License-Identifier: Apache-2.0
# What a checker of streams has to tell apart, a function each: who reads and writes a tensor on
# which stream, and which events, if any, order them. The cases are those of PyTorch's own stream
# sanitizer, by their names. Those that are wrong say so.
import torch

SIZE = 1 << 16


def fresh(count=1):
    tensors = [torch.zeros(SIZE, device="cuda") for _ in range(count)]
    torch.cuda.synchronize()
    return tensors


def streams(count):
    return [torch.cuda.Stream() for _ in range(count)]


def empty_kernel_launch():
    nothing, (one, other) = torch.zeros(0, device="cuda"), streams(2)
    with torch.cuda.stream(one):
        nothing.add_(1)
    with torch.cuda.stream(other):
        nothing.add_(1)


def simple_passing():
    (data, a, b), (one, other) = fresh(3), streams(2)
    with torch.cuda.stream(one):
        torch.mul(data, 2, out=a)
    with torch.cuda.stream(other):
        torch.mul(data, 3, out=b)


def simple_error():  # wrong
    (data, a), (one, other) = fresh(2), streams(2)
    with torch.cuda.stream(one):
        torch.mul(data, 2, out=a)
    with torch.cuda.stream(other):
        data.add_(1)


def simple_sync():
    (data, a), (one, other) = fresh(2), streams(2)
    with torch.cuda.stream(one):
        data.add_(1)
    other.wait_event(one.record_event())
    with torch.cuda.stream(other):
        torch.mul(data, 2, out=a)


def reads_check_last_write():  # wrong: the third stream
    (data, a, b), (one, two, three) = fresh(3), streams(3)
    with torch.cuda.stream(one):
        data.add_(1)
    two.wait_event(one.record_event())
    with torch.cuda.stream(two):
        torch.mul(data, 2, out=a)
    with torch.cuda.stream(three):
        torch.mul(data, 3, out=b)


def branch_sync():  # wrong: the write, beside the other branch's read
    (data, a, b), (one, two, three) = fresh(3), streams(3)
    with torch.cuda.stream(one):
        data.add_(1)
    event = one.record_event()
    two.wait_event(event)
    three.wait_event(event)
    with torch.cuda.stream(two):
        torch.mul(data, 2, out=a)
    with torch.cuda.stream(three):
        torch.mul(data, 3, out=b)
    with torch.cuda.stream(two):
        data.add_(2)


def chain_sync():
    (data,), chain = fresh(), streams(8)
    with torch.cuda.stream(chain[0]):
        data.add_(1)
    for before, after in zip(chain, chain[1:]):
        after.wait_event(before.record_event())
    with torch.cuda.stream(chain[-1]):
        data.add_(1)


def expired_record():  # wrong: the record is older than the write
    (data, a), (one, other) = fresh(2), streams(2)
    event = one.record_event()
    with torch.cuda.stream(one):
        data.add_(1)
    other.wait_event(event)
    with torch.cuda.stream(other):
        torch.mul(data, 2, out=a)


def deleted_record():  # wrong: another event is waited for
    (data, a), (one, other) = fresh(2), streams(2)
    with torch.cuda.stream(one):
        data.add_(1)
    event = one.record_event()
    del event
    event = torch.cuda.Event()
    other.wait_event(event)
    with torch.cuda.stream(other):
        torch.mul(data, 2, out=a)


def all_reads_checked_failing():  # wrong: the last reader is not waited for
    (data, *copies), readers = fresh(5), streams(4)
    writer, = streams(1)
    for reader, copy in zip(readers, copies):
        with torch.cuda.stream(reader):
            torch.mul(data, 2, out=copy)
    for reader in readers[:-1]:
        writer.wait_event(reader.record_event())
    with torch.cuda.stream(writer):
        data.add_(1)


def all_reads_checked_passing():
    (data, *copies), readers = fresh(5), streams(4)
    writer, = streams(1)
    for reader, copy in zip(readers, copies):
        with torch.cuda.stream(reader):
            torch.mul(data, 2, out=copy)
        writer.wait_event(reader.record_event())
    with torch.cuda.stream(writer):
        data.add_(1)


def multiple_errors():  # wrong: both tensors
    (data, more), (one, other) = fresh(2), streams(2)
    with torch.cuda.stream(one):
        torch.mul(data, 2, out=more)
    with torch.cuda.stream(other):
        data.add_(1)
        more.add_(1)


def correct_state_merging():  # wrong: what the first stream did after its record
    (data, more, a, b), (one, other) = fresh(4), streams(2)
    with torch.cuda.stream(one):
        data.add_(1)
    with torch.cuda.stream(other):
        more.add_(1)
    event = one.record_event()
    with torch.cuda.stream(one):
        data.add_(2)
    other.wait_event(event)
    with torch.cuda.stream(other):
        torch.mul(more, 2, out=b)
        torch.mul(data, 2, out=a)


def record_override():  # wrong: the second record is another stream's
    (data, a), (one, two, three) = fresh(2), streams(3)
    event = torch.cuda.Event()
    with torch.cuda.stream(one):
        data.add_(1)
    event.record(one)
    event.record(two)
    three.wait_event(event)
    with torch.cuda.stream(three):
        torch.mul(data, 2, out=a)


def multiple_wait():
    (data, a), (one, two, three) = fresh(2), streams(3)
    with torch.cuda.stream(one):
        data.add_(1)
    event = one.record_event()
    two.wait_event(event)
    three.wait_event(event)
    three.wait_event(event)
    three.wait_event(two.record_event())
    with torch.cuda.stream(three):
        torch.mul(data, 2, out=a)


def device_synchronize():
    (data,), several = fresh(), streams(4)
    for stream in several:
        with torch.cuda.stream(stream):
            data.add_(1)
        torch.cuda.synchronize()


def device_synchronization_expired():  # wrong: what came after the wait
    (data,), (one, other) = fresh(), streams(2)
    with torch.cuda.stream(one):
        data.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.stream(one):
        data.add_(2)
    with torch.cuda.stream(other):
        data.add_(3)


def new_stream_is_synchronized():
    (data,), (one,) = fresh(), streams(1)
    with torch.cuda.stream(one):
        data.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        data.add_(1)


def stream_synchronize():
    (data, a), (one, other) = fresh(2), streams(2)
    with torch.cuda.stream(one):
        data.add_(1)
    one.synchronize()
    with torch.cuda.stream(other):
        torch.mul(data, 2, out=a)


def event_synchronize():
    (data, a), (one, other) = fresh(2), streams(2)
    with torch.cuda.stream(one):
        data.add_(1)
    one.record_event().synchronize()
    with torch.cuda.stream(other):
        torch.mul(data, 2, out=a)


CASES = [empty_kernel_launch, simple_passing, simple_error, simple_sync, reads_check_last_write,
         branch_sync, chain_sync, expired_record, deleted_record, all_reads_checked_failing,
         all_reads_checked_passing, multiple_errors, correct_state_merging, record_override,
         multiple_wait, device_synchronize, device_synchronization_expired,
         new_stream_is_synchronized, stream_synchronize, event_synchronize]


def load_kernels():
    """A kernel that is loaded in the middle of a case would wait, and hide what is missing."""
    (data, a), nothing = fresh(2), torch.zeros(0, device="cuda")
    torch.mul(data, 2, out=a)
    data.add_(1)
    nothing.add_(1)
    torch.cuda.synchronize()


def main():
    """All cases; or those named, in a process that has loaded none of their kernels."""
    import sys

    named = [case for case in CASES if case.__name__ in sys.argv[1:]]
    if not named:
        load_kernels()
    for case in named or CASES:
        case()
        torch.cuda.synchronize()
    print(len(named or CASES), "cases")


main()
