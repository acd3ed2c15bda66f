#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Jupyter kernel: cells run as ever, one with %%cufence is recorded and reported.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
needs "$build/bin/cufence" "$build/lib/libcufence.so" "$build/sim/libcuda.so.1"
sanitized && finish # Python is not
python3 -c 'import ipykernel, jupyter_client' 2>/dev/null || {
	echo "skipped: no ipykernel and jupyter_client for python3: the Jupyter kernel"
	finish
}
cd "$tmp" || exit 1
mkdir scratch
export TMPDIR=$tmp/scratch HOME=$tmp JUPYTER_PATH=$tmp/env/share/jupyter JUPYTER_RUNTIME_DIR=$tmp/scratch
PATH=$build/bin:$PATH python3 "$root/jupyter/cufence_kernel.py" install env >said 2>&1
same "install" "env/share/jupyter/kernels/cufence" "$(cat said)"
cat >cells.py <<'EOF'
# Runs cells in the kernel and prints what each printed, and its error.
import os, sys
from jupyter_client.manager import start_new_kernel
SET_UP = r'''
import ctypes, os, subprocess
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
call("cuInit", 0)
context, module, kernel, stream = [ctypes.c_void_p() for _ in range(4)]
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
ptx = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry serve(.param .u64 ns)\n{\nret;\n}\n"
call("cuModuleLoadData", ctypes.byref(module), ptx)
call("cuModuleGetFunction", ctypes.byref(kernel), module, b"serve")
call("cuStreamCreate", ctypes.byref(stream), 1)
kept = ctypes.c_uint64()
call("cuMemAlloc_v2", ctypes.byref(kept), 4096)
def turn():
    ns, memory = ctypes.c_uint64(1), ctypes.c_uint64()
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(ns))
    call("cuMemAlloc_v2", ctypes.byref(memory), 1 << 20)
    call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, None)
    call("cuMemFree_v2", memory)
'''
CELLS = {
    "set up": SET_UP + 'for _ in range(500): turn()',
    "recorded": '%%cufence kept.db\nfor _ in range(100): turn()\nprint("mine")',
    "error": '%%cufence\nturn()\nraise ValueError("mine")',
    "after": 'turn()\nprint(os.environ.get("LD_PRELOAD"), "libcufence" in open("/proc/self/maps").read())',
}
manager, client = start_new_kernel(kernel_name="cufence")
for name, cell in CELLS.items():
    def show(message):
        content = message["content"]
        text = content.get("text") or (content["ename"] + "\n" if "ename" in content else "")
        if message["msg_type"] in ("stream", "error"):
            for line in text.splitlines():
                print(f"{name}: {line}")
    client.execute_interactive(cell, timeout=120, output_hook=show)
client.stop_channels()
manager.shutdown_kernel()
EOF
LD_LIBRARY_PATH=$build/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 200 python3 cells.py >out 2>err
same "cells: status" 0 $?
cat err
same "a cell that is not recorded prints what it prints" "" "$(grep '^set up: ' out)"
has "a recorded cell prints, too" '^recorded: mine$' "$(cat out)"
has "... and its report is below it" '^recorded: blocking-free: cuMemFree waited ' "$(cat out)"
same "its database is kept" 100 "$(cufence=$build/bin/cufence; "$cufence" query kept.db "SELECT count(*) FROM call
	c JOIN call_type t ON t.id = c.type WHERE t.kind = 'launch'")"
same "... and knows what was made before" 1 "$("$build/bin/cufence" query kept.db "SELECT count(*) FROM allocation
	WHERE bytes = 4096")"
has "an error is the cell's own" '^error: ValueError' "$(cat out)"
has "... and it has a report" '^error: .*work +1 kernel' "$(cat out)"
has "programs that cells start are not traced, the kernel is" '^after: None True$' "$(cat out)"
same "nothing is left behind" "" "$(find scratch -name 'cufence*')"
finish
