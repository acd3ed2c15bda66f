#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Process trees: each process that uses CUDA leaves a trace of its own, and "run" loads them all.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
helper=$build/tests/helpers/lifecycle
needs "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
here=$(cd "$(dirname "$0")" && pwd)
cd "$tmp" || exit 1

run() { # TEXT PROGRAM...: its output and status are those without the recorder
	local text=$1 want status
	shift
	want=$(LD_LIBRARY_PATH=$build/sim timeout 60 "$@" 2>/dev/null)
	status=$?
	same "$text: output" "$want" "$(timeout 60 "$cufence" run --sim -o db -- "$@" 2>err)"
	same "$text: status" "$status" "$(timeout 60 "$cufence" run --sim -o db -- "$@" >/dev/null 2>err; echo $?)"
}

traced() { # TEXT WANTED: frees by process, in order of their number
	same "$1: what is traced" "$2" "$("$cufence" query db "SELECT count(*) AS n FROM call JOIN
		call_type t ON t.id = type WHERE t.name = 'cuMemFree_v2' GROUP BY process ORDER BY n" | paste -sd' ')"
}

for mode in spawn vfork system; do
	run "$mode" "$helper" $mode
	traced "$mode" "101 112"
	same "$mode: both ended in order" 0 "$("$cufence" query db "SELECT count(*) FROM loss WHERE reason = 'not_closed'")"
	# A shell in between may or may not stay.
	[ $mode = system ] || same "$mode: the child knows its parent" 1 "$("$cufence" query db \
		"SELECT count(*) FROM process c JOIN process p ON p.pid = c.parent_pid")"
done
run "fork" "$helper" fork
traced "fork" "101 101"
run "exec" "$helper" exec
traced "exec" "101 101"
same "exec: one process, two programs" 1 "$("$cufence" query db "SELECT count(DISTINCT pid) FROM process")"
same "exec: only the old one has no end" "0 1" "$("$cufence" query db "SELECT closed FROM process ORDER BY closed" | paste -sd' ')"

# Children forked after CUDA was used, and machines without a device: never a clean run.
cannot() { # TEXT
	has "$1: said" 'incomplete: CUDA could not be used: .*--sim .*forked' "$(cat err)"
	"$cufence" check db >/dev/null 2>&1
	same "$1: check fails" 2 $?
}
run "fork after use" "$helper" forkuse
traced "fork after use" "11 112"
cannot "fork after use"
CUFENCE_SIM_DEVICES=0 "$cufence" run --sim -o db -- "$helper" exit >/dev/null 2>err
cannot "no device"

# A trace per process also without "run", and the two load together.
mkdir traces
lib=$build/lib/libcufence.so
nm -D "$lib" | grep -q __asan_init && lib="$(${CC:-gcc} -print-file-name=libasan.so) $lib"
LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$lib CUFENCE_OUT=$tmp/traces "$helper" spawn >/dev/null 2>&1
same "a trace each" 2 "$(ls traces | grep -c '^cufence\.[0-9]*\.cft$')"
"$cufence" load traces/*.cft -o db && traced "load" "101 112"

python=$(command -v python3)
[ -n "$python" ] && "$python" -c 'import ctypes' 2>/dev/null || finish
[ -n "${lib##* *}" ] || finish # a sanitized recorder in everything that Python starts
for how in fork spawn forkserver launch; do
	run "python $how" "$python" "$here/python/processes.py" $how
	traced "python $how" "10 11"
	same "python $how: to their ends" "1 10|1 11" "$("$cufence" query db "SELECT closed || ' ' || (SELECT
		count(*) FROM operation o WHERE o.process = p.id) AS n FROM process p ORDER BY n" | paste -sd'|')"
done
# The child that finds no program calls _exit() in its parent's memory.
run "python missing" "$python" "$here/python/processes.py" missing
traced "python missing" 21
same "python missing: to its end" "1 21" "$("$cufence" query db "SELECT closed || ' ' ||
	(SELECT count(*) FROM operation) FROM process")"
# A child whose environment the program made itself gets what the program gave it.
run "python env" "$python" "$here/python/processes.py" env
has "python env: nothing can be traced" "nothing was traced: .*cleared LD_PRELOAD" "$(cat err)"
finish
