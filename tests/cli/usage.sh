#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What threads do between their calls: sleep, compute, share a processor, read clocks.  By the real
# clock, and a driver that does nothing.
. "$(dirname "$0")/lib.sh" "$@"
helpers=$build/tests/helpers
cufence=$build/bin/cufence
needs "$build/lib/libcufence.so" "$helpers/libnullcuda.so" "$helpers/usage"
mkdir "$tmp/null"
ln -s "$helpers/libnullcuda.so" "$tmp/null/libcuda.so.1"

run() { # MODE: its trace is $tmp/MODE/*.cft, its database $tmp/MODE.db
	mkdir "$tmp/$1"
	same "$1: the program's output" 0 "$(LD_LIBRARY_PATH=$tmp/null CUFENCE_CUPTI=off CUFENCE_OUT=$tmp/$1 \
		LD_PRELOAD=$build/lib/libcufence.so timeout 60 "$helpers/usage" "$1" 2>&1)"
	"$cufence" load "$tmp/$1"/*.cft -o "$tmp/$1.db" 2>"$tmp/$1.err"
	ok "$1: loads" $?
}
ask() { # MODE SQL
	"$cufence" query "$tmp/$1.db" "$2" 2>&1
}

# Gaps of 30 ms: asleep, computing, half and half.  Strangers may take the processor, too.
run gaps
gaps="FROM (SELECT row_number() OVER (ORDER BY c.id) AS n, u.* FROM usage u JOIN call c ON c.thread = u.thread
 AND c.enter >= u.time AND c.enter < u.time + 1000000 JOIN call_type t ON t.id = c.type
 WHERE t.name = 'cuStreamSynchronize' AND u.time - u.since > 20000000)"
same "gaps: three of them were read" 3 "$(ask gaps "SELECT count(*) AS n $gaps")"
same "gaps: who sleeps is blocked" 1 "$(ask gaps "SELECT voluntary > 0 AND off > 29000000 AS n $gaps WHERE n = 1")"
same "gaps: who computes never gives up" 1 "$(ask gaps "SELECT voluntary = 0 AND time - since - off > 29000000 AS n $gaps WHERE n = 2")"
same "gaps: who does both does both" 1 \
	"$(ask gaps "SELECT voluntary > 0 AND off >= 14900000 AND time - since - off >= 14900000 AS n $gaps WHERE n = 3")"
same "gaps: none is read twice" 0 \
	"$(ask gaps "SELECT count(*) AS n FROM usage a JOIN usage b ON a.thread = b.thread AND a.since < b.time AND b.since < a.time AND a.rowid <> b.rowid")"

# Who shares a processor has half of it, and gives nothing up.
run share
same "share: the other thread preempts" 1 "$(ask share "SELECT count(*) AS n FROM usage
 WHERE voluntary = 0 AND involuntary > 0 AND off > 10000000 AND time - since - off BETWEEN 39000000 AND 60000000")"

# Five clocks are read first after a wait; then one late, one after a query, one after a memset.
run clocks
same "clocks: those that are first" 5 "$(ask clocks "SELECT count(*) AS n FROM clock_read")"
same "clocks: each is of its wait" "1,2,3,4,5" "$(ask clocks "SELECT group_concat(n) AS n FROM
 (SELECT row_number() OVER (ORDER BY c.id) AS n, c.id FROM call c JOIN call_type t ON t.id = c.type
 WHERE t.name = 'cuStreamSynchronize') WHERE id IN (SELECT call FROM wait_clock)" | tr -d '"')"
same "clocks: read by the program" 5 "$(ask clocks "SELECT count(*) AS n FROM wait_clock w JOIN site s ON s.id = w.site WHERE s.function = 'clocks'")"

# A signal's handler is the thread's own; a child of vfork() is not.
run elsewhere
same "elsewhere: of the handler only" 1 "$(ask elsewhere "SELECT count(*) AS n FROM clock_read")"

# A filter that ends whoever asks is not met; what came before it was read.
if grep -q '^Seccomp:.*0$' /proc/self/status; then
	run forbidden
	same "forbidden: nothing is read" 0 "$(ask forbidden "SELECT count(*) AS n FROM usage")"
	run forbids
	same "forbids: read before the filter" 3 \
		"$(ask forbids "SELECT count(*) AS n FROM usage WHERE time - since > 20000000")"
fi

finish
