#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Together with other profilers: CUPTI serves one tool at a time, and the report names that one.
. "$(dirname "$0")/lib.sh" "$@"
app=$build/testapps/free_in_loop
bad=$build/tests/helpers/libcupti_bad.so
needs "$build/lib/libcufence.so" "$app" "$bad" "$build/sim/libcuda.so.1"
cufence=$build/bin/cufence
want=$(LD_LIBRARY_PATH=$build/sim "$app")
# The tests themselves may run under a profiler: its variables must not affect them.
unset "${!NSYS_@}" "${!NV_COMPUTE_PROFILER_@}" "${!NV_SANITIZER_@}" CUDA_INJECTION64_PATH

busy() { # TEXT WANTED: the report of a run that finds CUPTI taken
	same "$1: the program's output" "$want" \
		"$(CUFENCE_CUPTI=$bad CUPTI_BAD=busy "$cufence" run --sim -o "$tmp/db" -- "$app" 2>"$tmp/err")"
	has "$1: who has it" "no device operations were recorded \\(CUPTI busy: .*, here $2\\)" "$(cat "$tmp/err")"
}

busy "nobody known" "another profiler"
NSYS_PROFILING_SESSION_ID=1 busy "Nsight Systems, by its environment" "Nsight Systems"
CUDA_INJECTION64_PATH=/opt/tool/libtool_injection.so busy "another injected library" "libtool_injection.so"
cp "$build/tests/helpers/liblink_a.so" "$tmp/libkineto.so"
LD_PRELOAD=$tmp/libkineto.so busy "a library of its" "PyTorch's profiler \\(kineto\\)"
same "host calls are recorded all the same" 1 "$("$cufence" query "$tmp/db" "SELECT count(*) > 100 FROM call")"

# The other direction: with CUFENCE_CUPTI=off the recorder leaves CUPTI to other tools.
same "CUFENCE_CUPTI=off: output" "$want" \
	"$(CUFENCE_CUPTI=off "$cufence" run --sim -o "$tmp/db" -- "$app" 2>"$tmp/err")"
has "CUFENCE_CUPTI=off is said" '\(CUPTI off\)' "$(cat "$tmp/err")"
has "and that no findings prove nothing" '^no findings, but the trace is incomplete$' "$(cat "$tmp/err")"
finish
