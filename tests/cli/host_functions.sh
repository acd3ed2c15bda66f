#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Host functions: the program runs as without the recorder, whatever way a function is passed and
# whatever becomes of it, and each run is in the database with its thread, entry, exit and call.
. "$(dirname "$0")/lib.sh" "$@"
helper=$build/tests/helpers/host_functions
cufence=$build/bin/cufence
needs "$helper" "$build/sim/libcuda.so.1"
query() { "$cufence" query "$tmp/db" "$1"; }

bare() { # ARGUMENTS...
	LD_LIBRARY_PATH=$build/sim timeout 60 "$helper" "$@" 2>&1
	echo "status $?"
}

traced() { # ARGUMENTS...
	timeout 120 "$cufence" run --sim -o "$tmp/db" -- "$helper" "$@" 2>"$tmp/report"
	echo "status $?"
}

# A node's function and data are the program's own in what the driver answers, too.
same "every way: output" "$(bare everything)" "$(traced everything)"
same "every way: each run is there" 17 "$(query "SELECT count(*) FROM host_run")"
same "every way: none of a node has a call of its own" "3 cuLaunchHostFunc 1 cuStreamAddCallback 13 none" \
	"$(query "SELECT group_concat(n, ' ') FROM (SELECT count(*) || ' ' || ifnull(t.name, 'none') AS n
	FROM host_run r LEFT JOIN call c ON c.id = r.call LEFT JOIN call_type t ON t.id = c.type
	GROUP BY t.name ORDER BY t.name IS NULL, t.name)")"
same "every way: another thread than the caller's ran it, after the call" 0 "$(query "SELECT count(*)
	FROM host_run r LEFT JOIN call c ON c.id = r.call
	WHERE r.thread = (SELECT thread FROM call LIMIT 1) OR r.enter < c.enter OR r.exit < r.enter")"
same "every way: a run lasts as long as the function" 1 "$(query "SELECT count(*) FROM host_run
	WHERE exit - enter > 5000")"
same "every way: each was passed on" "" "$(query "SELECT count FROM loss WHERE reason = 'passed_functions'")"
same "every way: a captured function is one function" "2 2" \
	"$(query "SELECT group_concat(n, ' ') FROM (SELECT count(*) AS n FROM host_run r
	WHERE call IS NULL GROUP BY function, data ORDER BY min(r.enter) LIMIT 2)")"

# More at once than there is room for.
same "full: output" "$(bare full 17000)" "$(traced full 17000)"
# The first function may have freed its slot already.
has "full: what has no room is counted" '^(16384 635|16385 634)$' "$(query "SELECT (SELECT count(*)
	FROM host_run) || ' ' || (SELECT count FROM loss WHERE reason = 'passed_functions')")"
has "full: and said" 'the runs of 63[45] host functions were not recorded' "$("$cufence" report "$tmp/db")"
same "full: the trace is complete otherwise" 0 "$("$cufence" check "$tmp/db" >/dev/null 2>&1; echo $?)"
same "many nodes: output" "$(bare nodes 17000)" "$(traced nodes 17000)"
same "many nodes: each ran, recorded or counted" 17000 "$(query "SELECT (SELECT count(*) FROM host_run)
	+ (SELECT count FROM loss WHERE reason = 'passed_functions')")"

same "refused: output" "$(bare refuse 17000)" "$(traced refuse 17000)"
same "refused: calls keep no slot" "1 0" "$(query "SELECT (SELECT count(*) FROM host_run) || ' ' ||
	(SELECT count(*) FROM loss WHERE reason = 'passed_functions')")"
same "threads: output" "$(bare threads 1000)" "$(traced threads 1000)"
same "threads: each run is there, with its call" "8000 8000" "$(query "SELECT count(*) || ' ' ||
	count(DISTINCT call) FROM host_run")"

# After an error of the context a host function does not run, a callback does.
export CUFENCE_SIM_DEVICES=2
same "error: output" "$(bare fail)" "$(traced fail)"
same "error: what ran" 2 "$(query "SELECT count(*) FROM host_run")"
unset CUFENCE_SIM_DEVICES

same "a forked child: output" "$(bare fork)" "$(traced fork)"
same "a forked child: the parent's runs" 2 "$(query "SELECT count(*) FROM host_run")"

# A C++ exception passes through the recorder's function to whoever catches it.
mkdir "$tmp/null" "$tmp/out"
ln -s "$build/tests/helpers/libnullcuda.so" "$tmp/null/libcuda.so.1"
caught() { # LIBRARIES
	CUFENCE_OUT=$tmp/out LD_LIBRARY_PATH=$tmp/null:$build/sim LD_PRELOAD=$1 \
		timeout 20 "$helper" throw 2>/dev/null
	echo "status $?"
}
preload=$build/lib/libcufence.so
sanitized && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
same "an exception: output" "$(caught '')" "$(caught "$preload")"
has "an exception: is caught" '^caught: thrown' "$(caught "$preload")"
"$cufence" load "$tmp"/out/*.cft -o "$tmp/db" >/dev/null 2>&1
same "an exception: that run has no exit, the next one has" "3 3" "$(query "SELECT sum(exit IS NULL) || ' ' ||
	sum(exit NOT NULL) FROM host_run WHERE process = 1")"
finish
