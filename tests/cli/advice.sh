#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A finding about a call that a library makes says what the program can change about the library, by
# the function of it that the program calls, whose name is in the library's own symbol table.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
helpers=$build/tests/helpers
[ -x "$helpers/dots" ] || { echo "skipped: advice.sh: no CUDA"; finish; }
needs "$cufence" "$build/sim/libcuda.so.1"
LD_LIBRARY_PATH=$helpers/cublas "$cufence" run --sim -o "$tmp/dots.db" -- "$helpers/dots" >/dev/null 2>"$tmp/report"
ok "a program with a library runs" $?
same "its fix" "    fix  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), with the result in device memory: in host pointer mode the call waits for it" \
	"$(grep -m 1 '^    fix ' "$tmp/report")"
# It fetches a result in a line that shows no wait: a value that is read.
LD_LIBRARY_PATH=$helpers/cublas "$cufence" run --sim -o "$tmp/norms.db" -- "$helpers/dots" norms >/dev/null 2>"$tmp/report"
same "a result of a library's is read" "blocking-copy medium 1 1" "$("$cufence" query "$tmp/norms.db" \
	"SELECT rule || ' ' || severity || ' ' || shown || ' ' || reads FROM finding")"
has "its fix" "    fix  cublasSetPointerMode\(handle" "$(cat "$tmp/report")"
# With it the copy, the record of an event and the wait for that go.
LD_LIBRARY_PATH=$helpers/cublas "$cufence" run --sim -o "$tmp/kept.db" -- "$helpers/dots" norms kept >/dev/null 2>&1
span="SELECT (SELECT max(exit) FROM call) - min(start) FROM operation"
saved=$(($("$cufence" query "$tmp/norms.db" "$span") - $("$cufence" query "$tmp/kept.db" "$span")))
saving=$("$cufence" query "$tmp/norms.db" "SELECT saving FROM finding")
error=$((${saving:-0} - saved))
[ $((error * error * 2500)) -le $((saved * saved)) ]
ok "it saves ${saving:-0} ns, in device pointer mode $saved" $?
finish
