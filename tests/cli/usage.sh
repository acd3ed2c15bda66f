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
 WHERE t.name = 'cuStreamSynchronize' AND u.time - u.since > 20000000
 AND c.id > (SELECT min(c.id) FROM call c JOIN call_type t ON t.id = c.type WHERE t.name = 'cuStreamSynchronize'))"
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

# Five clocks are read first after a wait; then each late, after a query and after a memset.
run clocks
read_by() { # MODE: the functions that read, and at how many sites each
	ask "$1" "SELECT group_concat(function || ' ' || n, ', ') FROM (SELECT s.function, count(DISTINCT s.id) AS n
		FROM clock_read r JOIN site s ON s.id = r.site GROUP BY 1 ORDER BY 1)"
}
same "clocks: those that are first" "clocks 5" "$(read_by clocks)"
same "clocks: each is of a wait, the program's" "cuStreamSynchronize 5" "$(ask clocks "SELECT t.name || ' ' ||
 count(DISTINCT w.site) FROM wait_clock w JOIN call c ON c.id = w.call JOIN call_type t ON t.id = c.type GROUP BY t.name")"
same "clocks: the wait is the call before" 0 "$(ask clocks "SELECT count(*) FROM wait_clock w JOIN call c ON c.id = w.call
 WHERE NOT EXISTS (SELECT 1 FROM clock_read r WHERE r.site = w.site AND r.time >= c.exit AND r.time <= c.exit + 20000)")"

# A signal's handler is the thread's own, but where it has a small stack; a child of vfork() is not.
# A sanitized recorder needs more stack.
if ! sanitized; then
	run elsewhere
	same "elsewhere: of the handler only" "handle 1" "$(read_by elsewhere)"
fi

# Python's clocks are the program's, those of its locks are not.
for python in $(which -a python3 2>/dev/null | sort -u); do
	mkdir "$tmp/python"
	LD_LIBRARY_PATH=$tmp/null CUFENCE_CUPTI=off CUFENCE_OUT=$tmp/python LD_PRELOAD=$build/lib/libcufence.so \
		timeout 60 "$python" "${0%/*}/python/clocks.py"
	same "$python: exit status" 0 $?
	# One that starts another one leaves that one's trace.
	"$cufence" load "$tmp/python"/*.cft -o "$tmp/python.db" 2>"$tmp/python.err"
	ok "$python: loads" $?
	if [ "$(ask python "SELECT value GLOB '3.*' FROM property WHERE name = 'python.frames'")" = 1 ]; then
		same "$python: who reads clocks" "read_counter, read_time" "$(ask python "SELECT group_concat(f, ', ')
			FROM (SELECT DISTINCT s.function AS f FROM wait_clock w JOIN site s ON s.id = w.site ORDER BY 1)")"
	fi
	rm -r "$tmp/python" "$tmp/python.db"
done

# A filter that ends whoever asks is not met; what came before it was read.
if grep -q '^Seccomp:.*0$' /proc/self/status; then
	run forbidden
	same "forbidden: nothing is read" 0 "$(ask forbidden "SELECT count(*) AS n FROM usage")"
	run forbids
	same "forbids: read before the filter" 1 \
		"$(ask forbids "SELECT count(*) >= 3 AS n FROM usage WHERE time - since > 20000000")"
fi

# What a report says of it.  Eight turns of a loop, written by hand: a kernel of 3 ms; then the
# thread calls or sleeps.
of_turns() { # LENGTH-NS CPU-NS AWK AWK: statements of each turn from t on, of the thread and of another
	echo "cufence-trace version=1.0 chunk_size=65536 clock=2 features=0x3 pid=100 parent_pid=1 start_ns=1000000000 closed=1 cupti_state=1 cupti_version=130000 driver_version=13000"
	echo "chunk thread=0"
	"$cufence" dump "$tmp/clocks"/*.cft | grep '^calltype' |
		grep -E '"(cuLaunchKernel|cuLaunchHostFunc|cuStreamCreate)"$'
	cat <<-'EOF'
		chunk thread=7
		thread thread=7 text="main"
		context id=1 cupti_id=1 handle=0xc0 device=0 flags=0
		deviceinfo device=0 sm_count=132 threads_per_sm=2048 blocks_per_sm=32 compute_major=9 compute_minor=0 async_engines=3 memory_bytes=1000000 text="GPU"
		calibration ticks=0 realtime_ns=1000000000 cupti_ns=1000000000 gap_ticks=50
		calibration ticks=1000000000 realtime_ns=2000000000 cupti_ns=2000000000 gap_ticks=50
		function handle=0xf0 parameters= name="step"
		string id=1 text="step"
		module start=0x400000 end=0x500000 file_offset=0x0 build_id=0123456789abcdef0123456789abcdef01234567 text="/app"
		site id=1 frames=0x401010
		site id=2 frames=0x401020
		site id=3 frames=0x401030
		symbol address=0x401010 depth=0 line=52 function="update" file="learner.py"
		symbol address=0x401020 depth=0 line=53 function="update" file="learner.py"
		symbol address=0x401030 depth=0 line=54 function="update" file="learner.py"
		call cuStreamCreate result=0 site=1 correlation=0 enter=1000 duration=100 context=1 | new_stream=0x5000 flags=0x1 priority=0x0
	EOF
	awk -v length_ns="$1" -v cpu="$2" 'BEGIN { for (i = 0; i < 8; i++) { t = 100000 + i * length_ns
		printf "usage site=0 ticks=%d cpu_ns=%d voluntary=%d involuntary=0\n", t, i * cpu, i
		printf "call cuLaunchKernel result=0 site=1 correlation=%d enter=%d duration=5000 context=1 | function=0xf0 stream=0x5000 grid=0x100000001 block=0x1001001\n", i + 2, t
		printf "device kind=1 detail=0 src=0 dst=0 start=%d end=%d correlation=%d context=1 device=0 stream=14 name=1 value=0\n", 1000000000 + t + 9000, 1000000000 + t + 3009000, i + 2
		'"$3"' }
		print "chunk thread=9\nthread thread=9 text=\"driver\""
		for (i = 0; i < 8; i++) { t = 100000 + i * length_ns; '"$4"' } }'
}
report_of() { # NAME: of the text on standard input
	"$cufence" undump - -o "$tmp/$1.cft" && "$cufence" load "$tmp/$1.cft" -o "$tmp/$1.db" &&
		"$cufence" report "$tmp/$1.db" 2>&1
	same "$1: the account adds up" 1 "$("$cufence" query "$tmp/$1.db" \
		"SELECT count(DISTINCT t) = 1 AS ok FROM (SELECT sum(time) AS t FROM account GROUP BY device)")"
}

# JAX: block_until_ready submits a host function, and is blocked until it has run; then the host
# prepares the next step for 2 ms.
function_of_turns() { # AWK: of the function's thread
	of_turns 5000000 1950000 '
		printf "call cuLaunchHostFunc result=0 site=2 correlation=0 enter=%d duration=5000 context=1 | stream=0x5000 callback=0x1 handle=0x0\n", t + 10000' '
		printf "hostrun caller=7 called=%d enter=%d exit=%d function=0x1 data=0x1\n", t + 10000, t + 3015000, t + 3020000
		'"$1"
}
report=$(function_of_turns '' | report_of until)
stream=$("$cufence" query "$tmp/until.db" "SELECT coalesce(cupti_id, id) FROM stream WHERE handle = 0x5000")
has "a host function ended it, at that line" \
	"^ *blocked outside CUDA at learner.py:53 until a host function on stream $stream: 2\.7 ms" "$report"
has "... or where it was, if the first thread was seen asleep" \
	"^ *blocked outside CUDA at learner.py:54 until a host function on stream $stream: 2\.7 ms" "$(
	function_of_turns 'printf "usage record_flags=4 site=3 ticks=%d cpu_ns=0 voluntary=0 involuntary=0\n", t + 3016000' |
		sed 's/ pid=100 / pid=7 /' | report_of seen)"
has "the device idles while the host computes" "idle .* a turn \(1\.8 ms\): 1\.7 ms host computing outside CUDA" "$report"

# A sleep is no work.
report=$(of_turns 50000000 100000 '' '' | report_of asleep)
has "the host is blocked" "idle .* a turn \(41 ms\): 41 ms host blocked outside CUDA" "$report"
has "... by nothing that was seen" \
	"^ *blocked outside CUDA at learner.py:52, before learner.py:52 \(nothing was seen that ended it\): 44 ms" "$report"
same "... and does not submit too slowly" 0 "$(grep -c 'the host needs' <<<"$report")"
# Work is.
report=$(of_turns 50000000 50000000 '' '' | report_of awake)
has "the host that computes does" "the host needs 41 ms to submit 3\.0 ms of work" "$report"
finish
