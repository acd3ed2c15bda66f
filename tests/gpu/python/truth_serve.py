# SPDX-License-Identifier: Apache-2.0
"""truth_serve.py MODULE LIBRARY JOBS WORKERS SECONDS: runs cases of truth_MODULE.py, each in a child of
its own, which the library is imported for only once.  JOBS is a file with a JSON list of
{"id", "case", "env"}; prints a JSON line {"id", "pid", "status", "seconds", "said"} for each."""
import importlib
import json
import os
import sys
import tempfile
import time

LONGEST = 60


def run(module, library, job, said):
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    os.environ.update(job["env"])
    status = 1
    try:
        module.ready(library)
        module.CASES[job["case"]]()
        module.done()
        status = 0
    except BaseException as error:  # whatever it is, the parent is told
        print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit(status)


def tell(job, pid, status, start, said):
    said.seek(0)
    print(json.dumps({"id": job["id"], "pid": pid, "status": os.waitstatus_to_exitcode(status),
                      "seconds": round(time.time() - start, 2),
                      "said": said.read()[-400:].decode("utf-8", "replace")}), flush=True)


def main():
    module = importlib.import_module("truth_" + sys.argv[1])
    library, workers = sys.argv[2], int(sys.argv[4])
    until = time.time() + float(sys.argv[5])
    with open(sys.argv[3]) as file:
        jobs = json.load(file)
    running = {}
    while jobs or running:
        while jobs and len(running) < workers and time.time() < until:
            job, said = jobs.pop(0), tempfile.TemporaryFile()
            pid = os.fork()
            if pid == 0:
                run(module, library, job, said)
            running[pid] = job, time.time(), said
        if time.time() >= until:
            jobs = []
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in running:
            job, start, said = running.pop(pid)
            tell(job, pid, status, start, said)
            continue
        for each, (job, start, said) in running.items():
            if time.time() - start > LONGEST:
                os.kill(each, 9)
        time.sleep(0.005)


main()
