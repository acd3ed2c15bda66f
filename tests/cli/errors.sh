#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the errors that invalid use of the driver returns, on the simulated device.  With "gpu" after
# BUILD on this machine's driver: any difference there is a mistake of the simulator.
. "$(dirname "$0")/lib.sh" "$@"
program=$build/gpu/driver_errors
needs "$program" "$build/sim/libcuda.so.1"
libraries=$build/sim preload=
[ "${2:-}" != gpu ] || libraries=${LD_LIBRARY_PATH:-}
[ "${2:-}" = gpu ] || ! sanitized || preload=$(${CC:-gcc} -print-file-name=libasan.so)

LD_LIBRARY_PATH=$libraries LD_PRELOAD=$preload timeout 300 "$program" >"$tmp/rows"
status=$?
grep -v '^ok: \|passed, ' "$tmp/rows"
read -r passed failed < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$tmp/rows")
same "every row was asked" $((${passed:-0} + ${failed:-0})) "$(grep -c '^ok: \|^not ok: ' "$tmp/rows")"
same "exit status" "$((failed > 0))" "$status"
[ "$passed" -gt 80 ]
ok "most rows are right" $?
finish
