#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packages/wheel.py BUILD VERSION: writes BUILD/cufence-VERSION-py3-none-manylinux_2_31_x86_64.whl.

pip puts the program into bin/ of the environment and the rest into lib/cufence beside it, which is
where "make install" has them.  No build tool is needed: a wheel is a zip file with a list of hashes.
"""
import base64
import hashlib
import os
import sys
import zipfile

TAG = "py3-none-manylinux_2_31_x86_64"
LIBRARIES = ["libcufence.so", "libcufence-injection.so", "libcufence-guard.so", "libcufence-hold.so",
             "libcufence-try.so", "libcufence-fix.so", "libcuda.so.1",
             "libcudart.so.13", "libcupti.so.13"]
DOCS = ["RULES.md", "SCHEMA.md", "FORMAT.md", "report.schema.json", "grafana.json"]
METADATA = """Metadata-Version: 2.1
Name: cufence
Version: {version}
Summary: Finds unintended and forgotten synchronization in CUDA programs
License: Apache-2.0
Requires-Python: >=3.6
Description-Content-Type: text/plain

cufence run -- python train.py

traces a program and reports which calls wait for the device without need, which fences are missing,
where, and what that costs.  "cufence help" lists the commands, "cufence help rules" what is found.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: packages/wheel.py\nRoot-Is-Purelib: false\nTag: " + TAG + "\n"


def contents(build, version):
    """(name in the wheel, bytes, whether it is executable) of all files but RECORD."""
    sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    data = f"cufence-{version}.data"
    info = f"cufence-{version}.dist-info"

    def of(*path):
        with open(os.path.join(*path), "rb") as file:
            return file.read()

    yield f"{data}/scripts/cufence", of(build, "wheel", "cufence"), True
    for name in LIBRARIES:
        yield f"{data}/data/lib/cufence/{name}", of(build, "wheel", name), True
    yield f"{data}/data/share/man/man1/cufence.1", of(sources, "doc", "cufence.1"), False
    yield f"{data}/data/share/cufence/cufence_kernel.py", of(sources, "jupyter", "cufence_kernel.py"), False
    for name in DOCS:
        yield f"{data}/data/share/doc/cufence/{name}", of(sources, "doc", name), False
    yield f"{info}/LICENSE", of(sources, "LICENSE"), False
    yield f"{info}/METADATA", METADATA.format(version=version).encode(), False
    yield f"{info}/WHEEL", WHEEL.encode(), False


def main(build, version):
    path = os.path.join(build, f"cufence-{version}-{TAG}.whl")
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name, content, executable):
            # One time for all, so that the same build makes the same file.
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)

        for name, content, executable in contents(build, version):
            add(name, content, executable)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(content)}\n")
        name = f"cufence-{version}.dist-info/RECORD"
        add(name, ("".join(record) + f"{name},,\n").encode(), False)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
