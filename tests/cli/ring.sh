#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A ring: a long run stays bounded on disk, and its report is that of its last part, with what is
# older and needed; killed at any time it is readable.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
preload=$build/lib/libcufence.so
needs "$cufence" "$build/tests/helpers/server" "$build/lib/libcufence.so"
sanitized && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
cd "$tmp" || exit 1
. "$here/serve.sh"

trace() { echo "$PWD"/*.traces-*/*.cft; }
drive() { # N: so many turns, of some 370 bytes, and on until much more was written than is kept: a matter of time
	local size
	while ((total < $1 || (total < 20 * $1 && total * 370 < 5 * most / 2))); do
		turns 400
		size=$(stat -c %s "$(trace)" 2>/dev/null)
		[ "${size:-0}" -le "$most" ] || most=$size
	done
}
end() { # TEXT
	leave "$1"
	wait "${started[-1]}"
	same "$1: status" 0 $?
}
is_whole() { # TEXT DATABASE: the report is of its last part, which is complete and understood
	same "$1: nothing is lost" "" "$(query "$2" "SELECT reason FROM loss WHERE reason NOT IN
		('passed_through', 'not_closed', 'unlisted_modules')")"
	same "$1: the last part, until the end" "0 1 1" "$(query "$2" "SELECT min(work) || ' ' || sum(work) || ' ' ||
		(max(end) = (SELECT end FROM process)) FROM recording WHERE cause = 'ring'")"
	same "$1: no work before it" 0 "$(query "$2" "SELECT count(*) FROM operation o JOIN call c ON c.id = o.call,
		recording r WHERE r.work AND c.enter < r.start")"
	same "$1: nor its calls" 0 "$(query "$2" "SELECT count(*) FROM call c JOIN call_type t ON t.id = c.type,
		recording r WHERE r.work AND c.enter < r.start AND t.name = 'cuLaunchKernel'")"
	same "$1: its kernels have their calls" 0 "$(query "$2" "SELECT count(*) FROM operation WHERE call IS NULL")"
	same "$1: memory from the start is known" 1 "$(query "$2" "SELECT count(*) FROM allocation
		WHERE bytes = 1048576")"
	same "$1: ... and what kernels do with it" 0 "$(query "$2" "SELECT count(*) FROM call c JOIN call_type t
		ON t.id = c.type WHERE t.kind = 'launch' AND NOT EXISTS (SELECT 1 FROM operand o JOIN allocation a
		ON a.id = o.allocation WHERE o.call = c.id AND a.bytes = 1048576)")"
	same "$1: memory that is freed is gone" 1 "$(query "$2" "SELECT count(*) FROM allocation
		WHERE freed IS NULL AND bytes <> 1048576" | awk '{ print $1 <= 1 }')"
	same "$1: lives that are over are gone" 1 "$(query "$2" "SELECT count(*) <
		1.3 * (SELECT count(*) FROM operation) FROM call c JOIN call_type t ON t.id = c.type
		WHERE t.name = 'cuMemAlloc_v2'")"
	same "$1: its site has lines" 1 "$(query "$2" "SELECT count(*) FROM finding f JOIN site s ON s.id = f.site
		WHERE f.rule = 'blocking-free' AND s.file LIKE '%server.c'")"
}

serve_run --ring 2M --keep-trace -o size.db
drive 20000
end "size"
is_whole "size" size.db
written=$("$cufence" dump "$(trace)" | sed -n '1s/.* written=//p')
same "size: in the order of time" "" "$("$cufence" dump "$(trace)" |
	sed -n 's/^call cuLaunchKernel .* enter=\([0-9]*\) .*/\1/p' | sort -nc 2>&1)"
rm -rf ./*.traces-*
same "size: bounded: $most of $written bytes" 1 $((most > 1000000 && most < 4000000 && most < written / 2))
same "size: of a longer run" 1 "$(query size.db "SELECT count(*) < $total / 2 FROM operation")"
same "size: it is replayed" 1 "$(query size.db "SELECT saving_low > 0 FROM finding WHERE shown")"
has "size: said" 'recorded [0-9.]+ m?s of [0-9.]+ m?s, in 1 window \(by ring\)' "$("$cufence" report size.db)"

serve_run --ring 0.1s -o time.db
drive 15000
end "time"
is_whole "time" time.db
same "time: so long, and until it is cut again" 1 "$(query time.db "SELECT end - start >= 100000000
	FROM recording WHERE work")"
same "time: of more" 1 "$(query time.db "SELECT min(start) = 0 AND max(start) > 100000000 FROM recording")"

feed() { # the server gets turns without end; its answers are read
	(while echo 100; do sleep 0.02; done >&4) 2>/dev/null &
	feeder=$!
	(cat <&5 >/dev/null) &
	reader=$!
	started+=($feeder $reader)
	exec 4>&- 5<&-
}
pid() { "$cufence" ps --folder "$(dirname "$(trace)")" | awk 'NR == 2 { print $1 }'; }
has_finding() { # TEXT DATABASE
	same "$1: nothing is damaged" "" "$(query "$2" "SELECT reason FROM loss WHERE reason IN
		('truncated', 'damaged')")"
	same "$1: the finding" 1 "$(query "$2" "SELECT count(*) FROM finding WHERE rule = 'blocking-free'")"
}

# Looked at while it goes on: what is read is of one time, though chunks are used again.
serve_run --ring 4M -o run.db
run=${started[-1]}
feed
for ((i = 0; i < 200; i++)); do
	"$cufence" dump "$(trace)" 2>/dev/null | grep -q '^window open=1 cause=9' && break
	sleep 0.1
done
for ((i = 1; i <= 5; i++)); do
	"$cufence" snapshot --folder "$(dirname "$(trace)")" --quiet -o snapshot.db
	has_finding "snapshot $i" snapshot.db
	same "snapshot $i: of the ring" 1 "$(query snapshot.db "SELECT sum(work AND cause = 'ring') FROM recording")"
	same "snapshot $i: each kernel has its call, but the last ones" 0 "$(query snapshot.db "SELECT count(*)
		FROM operation WHERE call IS NULL AND start < (SELECT max(enter) FROM call)")"
done
kill -TERM "$(pid)"
wait $run $feeder $reader

# Killed at any time: the program, or "run", whose part is then left as it was.
for signal in TERM INT KILL; do
	for after in 0.4 0.9 2; do
		serve_run --ring 1M -o killed.db
		run=${started[-1]}
		feed
		sleep $after
		kill -$signal "$(pid)"
		wait $run
		status=$?
		same "$signal after $after s: status" $((128 + $(kill -l $signal))) $status
		wait $feeder $reader
		has_finding "$signal after $after s" killed.db
	done
	same "$signal: of the ring" 1 "$(query killed.db "SELECT sum(work AND cause = 'ring') FROM recording")"
done
serve_run --ring 1M --keep-trace -o left.db
drive 20000
trace=$(trace)
kill -KILL "${started[-1]}"
exec 4>&- 5<&-
"$cufence" load "$trace" -o left.db >load.txt 2>&1
has_finding "run was killed" left.db

# LD_PRELOAD alone, and "collect" on the other side of the folder.
mkdir shared
serve env CUFENCE_OUT="$PWD/shared" LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$preload" WITHOUT_GRAPH=1
turns 10
"$cufence" collect --folder shared --ring 2M 4>&- 5<&- &
collector=$!
started+=($collector)
trace() { echo "$PWD"/shared/*.cft; }
drive 15000
leave "collect"
kill -TERM $collector
wait $collector
same "collect: status" 0 $?
written=$("$cufence" dump "$(trace)" | sed -n '1s/.* written=//p')
same "collect: bounded: $most of $written bytes" 1 $((most > 1000000 && most < 4000000 && most < written / 2))
"$cufence" load shared/*.cft -o collected.db >load.txt 2>&1
has_finding "collect" collected.db
same "collect: of the ring" 1 "$(query collected.db "SELECT sum(work AND cause = 'ring') FROM recording")"
trace() { echo "$PWD"/*.traces-*/*.cft; }

# A thread that has long been in a call is said to be there.
export HANGS=1 CUFENCE_SIM_DEVICES=2
serve_run --ring 0.1s -o hung.db
unset HANGS CUFENCE_SIM_DEVICES
drive 15000
kill -KILL "$(pid)"
exec 4>&- 5<&-
wait "${started[-1]}"
same "a hang from before the last part: its call" "cuStreamSynchronize 1" "$(query hung.db "SELECT t.name, c.exit IS
	NULL FROM call c JOIN call_type t ON t.id = c.type, recording r WHERE r.cause = 'ring' AND r.work
	AND c.enter < r.start AND t.name = 'cuStreamSynchronize'" | tr '\t|' '  ')"
has "... said" '^    hung     cuStreamSynchronize had not returned at the end of the trace' "$("$cufence" report hung.db)"

for bad in "--ring 0" "--ring x" "--ring 5" "--ring 0s" "--ring 30s --sample"; do
	"$cufence" run $bad -- true >/dev/null 2>&1
	same "run $bad" 125 $?
done
for good in 30s 1.5s 64M 64MiB; do
	"$cufence" run -o good.db --ring $good -- true >/dev/null 2>&1
	same "run --ring $good" 0 $?
done
finish
