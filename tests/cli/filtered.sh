#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that forbids system calls once it has warmed up goes on as without the recorder, and
# its trace is complete.  So does one that valgrind runs.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
helper=$build/tests/helpers/filtered
needs "$cufence" "$helper" "$build/lib/libcufence.so"
sanitized && finish # which has system calls of its own
export LD_LIBRARY_PATH=$build/sim
cd "$tmp" || exit 1

bare=$(timeout 60 "$helper" 10000 2>&1)
[ $? -eq 77 ] && finish # no seccomp here
recorded=$(CUFENCE_OUT=$tmp LD_PRELOAD=$build/lib/libcufence.so timeout 60 "$helper" 10000 2>&1)
same "status" 0 "$?"
same "output" "$bare" "$recorded"
"$cufence" load cufence.*.cft -o run.db
same "load" 0 "$?"
same "all calls" 40200 "$("$cufence" query run.db "SELECT count(*) FROM call c JOIN call_type t
	ON t.id = c.type WHERE t.name IN ('cuMemsetD8Async', 'cuStreamSynchronize')")"
# The filter may forbid to list the libraries at the end.
# Nor are the memsets in it that fail on purpose.
same "nothing else lost" "unlisted_modules 1
some_failed 10000" "$("$cufence" query run.db 'SELECT reason, count FROM loss' | tr '\t' ' ')"
same "threads have their names" filtered "$("$cufence" query run.db \
	'SELECT DISTINCT name FROM thread WHERE name NOT NULL')"

# Checkers that search all memory of a program can be used: that of a simulated device is mapped as
# it is allocated.
if command -v valgrind >/dev/null; then
	timeout -s KILL 100 valgrind -q --error-exitcode=9 "$build/tests/helpers/faults" work 10 >out 2>err
	same "valgrind on the simulator ends" "0 " "$? $(cat err)"
	mkdir valgrind
	CUFENCE_OUT=$tmp/valgrind LD_PRELOAD=$build/lib/libcufence.so timeout -s KILL 100 \
		valgrind -q --error-exitcode=9 "$build/tests/helpers/faults" work 10 >recorded 2>err
	# It names calls of sigprocmask() that only ask whether memory can be read.
	same "with the recorder: no errors" "0 " "$? $(grep -v "unknown 'how' field" err)"
	same "with the recorder: output" "$(cat out)" "$(cat recorded)"
	"$cufence" load valgrind/*.cft -o valgrind.db
	same "with the recorder: a trace" "0 30" "$? $("$cufence" query valgrind.db "SELECT count(*)
		FROM call c JOIN call_type t ON t.id = c.type WHERE t.name LIKE '%Stream%' OR
		t.name LIKE '%Memset%'")"
fi
finish
