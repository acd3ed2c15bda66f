#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cufence_kernel.py install [FOLDER]: a Jupyter kernel whose cells can be recorded.

It is IPython's kernel with the recorder loaded and paused, which costs nearly nothing.  A cell that
begins with %%cufence is recorded, and its report printed below it; %%cufence NAME.db keeps the
database, too.  What the cells before made (memory, streams, graphs) is known.

install writes the kernel to FOLDER/share/jupyter/kernels, by default the user's.  The program
cufence must be found in PATH then.
"""
import atexit
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

NAME = "cufence"
SPEC = {"display_name": "Python 3 (cufence)", "language": "python", "metadata": {"debugger": True}}


def library_of(program):
    """libcufence.so where "make install" puts it, or a build folder has it."""
    above = os.path.join(os.path.dirname(os.path.realpath(program)), "..", "lib")
    for path in (os.path.join(above, "cufence", "libcufence.so"), os.path.join(above, "libcufence.so")):
        if os.path.exists(path):
            return os.path.realpath(path)
    sys.exit(f"cufence_kernel: no libcufence.so in {above}")


def install(folder):
    program = shutil.which("cufence") or sys.exit("cufence_kernel: cufence is not in PATH")
    place = os.path.join(folder, "share", "jupyter", "kernels", NAME)
    os.makedirs(place, exist_ok=True)
    own = shutil.copy(os.path.abspath(__file__), place)
    argv = [sys.executable, own, "kernel", os.path.realpath(program), library_of(program), "-f",
            "{connection_file}"]
    with open(os.path.join(place, "kernel.json"), "w", encoding="utf-8") as file:
        json.dump(dict(SPEC, argv=argv), file, indent=1)
    print(place)


def load_recorder(library):
    """The same program again, with the recorder; its traces are removed with the kernel."""
    preload = os.environ.get("LD_PRELOAD", "")
    traces = tempfile.mkdtemp(prefix="cufence-kernel.")
    settings = {"LD_PRELOAD": f"{library} {preload}".strip(), "CUFENCE_PAUSED": "1", "CUFENCE_OUT": traces}
    os.execve(sys.executable, [sys.executable, *sys.argv], dict(os.environ, **settings))


def make_calls(count):
    """The recorder answers at calls of CUDA: here some without an effect, which initialize nothing.

    While it records it looks for requests each 8 ms, which are many calls in the simulator's time.
    """
    try:
        query = ctypes.CDLL("libcuda.so.1").cuEventQuery
    except OSError:
        return
    for _ in range(count):
        query(None)


class Recorder:
    """This process, as cufence sees it."""

    def __init__(self, program):
        self.program = program
        self.traces = os.environ["CUFENCE_OUT"]

    def ask(self, *words):
        """Runs a command of cufence about this process, and answers meanwhile.  Returns its status."""
        command = [self.program, words[0], str(os.getpid()), *words[1:]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as asked:
            while True:
                make_calls(500)
                try:
                    text = asked.communicate(timeout=0.01)[0]
                    break
                except subprocess.TimeoutExpired:
                    continue
        said = text.decode(errors="replace")
        # What it says when it did what was asked for needs no line in a notebook.
        if not said.strip().endswith({"start": ": recording", "stop": ": paused"}.get(words[0], "\0")):
            print(said, end="")
        return asked.returncode

    def cell(self, line, cell):
        """%%cufence: the cell runs as ever; errors of it are its own."""
        from IPython import get_ipython

        make_calls(1)
        if self.ask("start"):
            return
        try:
            get_ipython().run_cell(cell)
        finally:
            self.ask("stop")
            database = line.strip() or os.path.join(self.traces, "cell.db")
            self.ask("snapshot", "-o", database)


def run(program, library, arguments):
    if library not in os.environ.get("LD_PRELOAD", "").split():
        load_recorder(library)
    recorder = Recorder(program)
    atexit.register(shutil.rmtree, recorder.traces, ignore_errors=True)
    # Programs that cells start are their own.
    others = [path for path in os.environ["LD_PRELOAD"].split() if path != library]
    os.environ["LD_PRELOAD"] = " ".join(others)
    if not others:
        del os.environ["LD_PRELOAD"]
    from ipykernel.kernelapp import IPKernelApp

    kernel = IPKernelApp.instance()
    kernel.initialize(arguments)
    kernel.shell.register_magic_function(recorder.cell, "cell", NAME)
    kernel.start()


def main():
    if len(sys.argv) > 4 and sys.argv[1] == "kernel":
        run(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif sys.argv[1:2] == ["install"] and len(sys.argv) < 4:
        install(sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.expanduser("~"), ".local"))
    else:
        sys.exit(__doc__.split("\n")[0])


if __name__ == "__main__":
    main()
