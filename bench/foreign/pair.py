# SPDX-License-Identifier: Apache-2.0
"""What the Python programs of the pairs share. "NAME.py" is the program with the wait, "NAME.py
fixed" the one without. Each of three calls of main(fixed) ends with report()."""
import sys


def report(seconds, turns, checksum):
    """seconds: from before the first turn until the device has done them all."""
    print(f"TURN_US {seconds / turns * 1e6:.1f} TURNS {turns} CHECKSUM {checksum:.6g}", flush=True)


def run(main):
    for _ in range(3):
        main("fixed" in sys.argv[1:])
