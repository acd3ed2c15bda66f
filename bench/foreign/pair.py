# SPDX-License-Identifier: Apache-2.0
"""What the Python programs of the pairs share. "NAME.py" is the program with the wait, "NAME.py
fixed" the one without: three calls of main(fixed), each of which ends with report(). "NAME.py both N"
calls each form once and then N times in turn, the one with the wait first and last by turns."""
import fcntl
import os
import sys


def report(seconds, turns, checksum):
    """seconds: from before the first turn until the device has done them all."""
    print(f"TURN_US {seconds / turns * 1e6:.1f} TURNS {turns} CHECKSUM {checksum:.6g}", flush=True)


def take_turn():
    """Waits, before CUDA begins, until no other program uses the device; then on cores of its own."""
    if "PAIR_TURN" in os.environ:
        turn = os.open(os.environ["PAIR_TURN"], os.O_RDWR)  # until the process ends
        fcntl.flock(turn, fcntl.LOCK_EX)
        os.sched_setaffinity(0, map(int, os.environ["PAIR_CORES"].split(",")))


def run(main):
    take_turn()
    if sys.argv[1:2] == ["both"]:
        main(False), main(True)
        for number in range(int(sys.argv[2])):
            main(number % 2 > 0), main(number % 2 == 0)
    else:
        for _ in range(3):
            main("fixed" in sys.argv[1:])
