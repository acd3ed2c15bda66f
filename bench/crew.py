# SPDX-License-Identifier: Apache-2.0
"""Programs that take turns: one process per way to run a program, all started together and kept,
so that a turn costs what it measures and two that are compared run within the same second on the
same core.  A program reads what it is asked from FOLDER/ask, a line each, and answers each by one
line in FOLDER/say (bench/workload.cu)."""
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time

ENDING = 60  # seconds a program has to end; Nsight Systems writes its report then


class Variant:
    """One way to run a program: bare, recorded, or under another tool."""

    def __init__(self, name, preload=None, environment=None, prefix=(), arguments=()):
        self.name, self.environment = name, dict(environment or {})
        self.prefix, self.arguments = list(prefix), list(arguments)
        if preload:
            self.environment["LD_PRELOAD"] = preload

    def command(self, program, out):
        # The variables are the program's alone: the tool before it must not be preloaded.
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        if settings:
            settings = ["env", f"CUFENCE_OUT={out}"] + settings
        return self.prefix + settings + program + self.arguments


def orders(names, seed):
    """Orders of turns, one per round, without end.  By chance: a turn is quicker or slower after
    another's turn, by 3 ns a call after one that wrote records, too, and in an order that only
    rotates each comes after the same one."""
    chance = random.Random(seed)
    while True:
        yield chance.sample(names, len(names))


class Worker:
    """A process of a variant; limit: seconds it has for an answer."""

    def __init__(self, variant, program, folder, limit):
        self.variant, self.folder, self.limit = variant, folder, limit
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(f"{folder}/out")
        for name in ("ask", "say"):
            os.mkfifo(f"{folder}/{name}")
        # For reading and writing: opening waits for nobody that way.
        self.ask_end, self.say_end = (
            os.open(f"{folder}/{name}", os.O_RDWR | os.O_CLOEXEC) for name in ("ask", "say"))
        self.said = b""
        with open(f"{folder}/err", "wb") as err:
            self.process = subprocess.Popen(
                variant.command(program + ["-s", folder], f"{folder}/out"), cwd=f"{folder}/out",
                stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True)

    def tell(self, line):
        os.write(self.ask_end, line.encode() + b"\n")

    def hear(self):
        """The next line; None if the process ended or took too long."""
        until = time.monotonic() + self.limit
        while b"\n" not in self.said:
            if select.select([self.say_end], [], [], 0.2)[0]:
                self.said += os.read(self.say_end, 65536)
            elif self.process.poll() is not None or time.monotonic() > until:
                return None
        line, self.said = self.said.split(b"\n", 1)
        return line.decode()

    def ask(self, line):
        self.tell(line)
        return self.hear()

    def errors(self):
        with open(f"{self.folder}/err", encoding="utf-8", errors="replace") as err:
            return err.read()

    def close(self):
        """Nothing more is asked: the process ends by itself."""
        for end in (self.ask_end, self.say_end):
            os.close(end)

    def ended(self):
        """Whether it ended well; it is made to if it does not."""
        try:
            return self.process.wait(ENDING) == 0 or bool(self.variant.prefix)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return False


class Crew:
    """A worker of each variant, on one core, which is the quickest whenever a round begins."""

    def __init__(self, variants, program, scratch, limit, find_core):
        self.workers = {variant.name: Worker(variant, program, f"{scratch}/{variant.name}", limit)
                        for variant in variants}
        self.find_core, self.core = find_core, None

    def failed(self, name, what):
        worker = self.workers.pop(name)
        print(f"{name}: left out from here on: {what}\n{worker.errors()[-2000:]}", file=sys.stderr)
        worker.close()
        worker.ended()

    def bind(self):
        """Everybody to the core that is the quickest now.  Returns the variants that failed."""
        self.core = self.find_core()
        lost = []
        for worker in self.workers.values():
            worker.tell(f"core {self.core}")
        for name, worker in list(self.workers.items()):
            if worker.hear() != f"core {self.core}":
                self.failed(name, "it did not start, or cannot run on a core")
                lost.append(name)
        return lost

    def end(self, good):
        """good(worker): whether a process that ended well did what it is for.  Returns the variants
        whose did not."""
        for worker in self.workers.values():
            worker.close()
        lost = [name for name, worker in self.workers.items()
                if not (worker.ended() and good(worker))]
        for name in lost:
            print(f"{name}: ended badly\n{self.workers[name].errors()[-2000:]}", file=sys.stderr)
        self.workers = {}
        return lost
