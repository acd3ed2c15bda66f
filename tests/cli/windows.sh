#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Windows: the part of a run that is recorded, and the facts about the rest.
. "$(dirname "$0")/lib.sh" "$@"
helper=$build/tests/helpers/windows
needs "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
cufence=$build/bin/cufence
query() { "$cufence" query "$tmp/db" "$1"; }
calls() { query "SELECT count(*) FROM call JOIN call_type t ON t.id = type WHERE name = '$1'"; }

record() { # TEXT OPTION...: runs the helper; its output must be its own
	local text=$1
	shift
	same "$text: output" 0 "$("$cufence" run --sim -o "$tmp/db" "$@" -- "$helper" ${rounds:-12} 2>"$tmp/err")"
}

holds() { # TEXT KERNELS [ROUNDS FREED]: 10 ms each, as many graphs; handles and memory of ROUNDS are known
	local rounds=${3:-12}
	same "$1: kernels" "$2" "$(query "SELECT count(*) FROM operation WHERE kind = 'kernel'")"
	same "$1: graphs" "$2" "$(query "SELECT count(*) FROM operation WHERE kind = 'graph'")"
	same "$1: every operation has its call" "" "$("$cufence" query "$tmp/db" unmatched)"
	same "$1: waits" "$2" "$(calls cuStreamSynchronize)"
	same "$1: launches, and the captured one" $(($2 + 1)) "$(calls cuLaunchKernel)"
	same "$1: allocations were made and freed" "$rounds ${4:-$rounds}" \
		"$(query "SELECT count(created) || ' ' || count(freed) FROM allocation")"
	same "$1: event records" "$rounds" "$(calls cuEventRecord)"
	same "$1: the stream and event were made" 2 "$(query "SELECT (SELECT count(created) FROM stream) +
		(SELECT count(created) FROM event)")"
}

record "all"
holds "all" 12
same "all: no stretches" 0 "$(query "SELECT count(*) FROM recording")"
same "all: no word of it" "" "$(grep '^ *recorded ' "$tmp/err")"

record "profiler" --profiler
holds "profiler" 4
same "profiler: stretches" "0 profiler|1 profiler|0 profiler" \
	"$(query "SELECT work || ' ' || cause FROM recording ORDER BY start" | paste -sd'|')"
has "profiler: said" '^ *recorded 4[0-9](\.[0-9]+)? ms of 1[0-9][0-9](\.[0-9]+)? ms, in 1 window \(by profiler\)' "$(cat "$tmp/err")"
same "profiler: percentages are of one thing" 1 "$(grep -c 'percentages' "$tmp/err")"
"$cufence" check "$tmp/db" >/dev/null 2>&1
same "profiler: what was asked for is complete" 0 $?

record "range" --nvtx step
holds "range" 4
has "range: said" 'in 1 window \(by range\)' "$(cat "$tmp/err")"

record "delay" --delay 0.035
holds "delay" 8
record "duration" --duration 0.035
holds "duration" 4 4 3 # nothing is recorded after it
same "duration: stretches" "1 start|0 duration" \
	"$(query "SELECT work || ' ' || cause FROM recording ORDER BY start" | paste -sd'|')"
record "turns" --nvtx step --turns 1
holds "turns" 4 8
same "turns: stretches" "0 range|1 range|0 turns" \
	"$(query "SELECT work || ' ' || cause FROM recording ORDER BY start" | paste -sd'|')"
record "delay and duration" --delay 0.035 --duration 0.035
holds "delay and duration" 4 8 7
record "a range after the delay" --delay 0.055 --nvtx step
holds "a range after the delay" 2

# Two windows of one program find the same, in shares of the recorded time.  Frees outside of it,
# whose kernels were not recorded, are not assumed to be free of waiting.
app=$build/testapps/free_in_loop
if [ -x "$app" ]; then
	for window in "--duration 0.02" "--delay 0.02"; do
		"$cufence" run --sim -o "$tmp/db" $window -- "$app" >/dev/null 2>&1
		same "$window: the finding" "blocking-free certain free_scratch:22 -> launch_accumulate:33" \
			"$("$cufence" query "$tmp/db" expect)"
		same "$window: its share is that of the recorded time" 1 \
			"$(query "SELECT share BETWEEN 0.4 AND 0.7 FROM finding WHERE shown")"
		same "$window: a replay of it says what would be saved" 1 \
			"$(query "SELECT saving_low > 0 AND refusal IS NULL FROM replay")"
	done
fi

# Allocations and frees are recorded outside of it as well, but not what orders them.
app=$build/testapps/async_alloc_early_fixed
if [ -x "$app" ]; then
	"$cufence" run --sim -o "$tmp/db" --session any --duration 0.002 -- "$app" >/dev/null 2>&1
	same "outside of a window: nothing is said of the order" "" "$("$cufence" query "$tmp/db" expect)"
	same "... of allocations in two streams" 1 "$(query "SELECT count(*) > 8 FROM call JOIN call_type t
		ON t.id = type, recording r WHERE t.name = 'cuMemFreeAsync' AND NOT r.work AND enter > r.start")"
fi

# Windows that open and close while other threads are in the middle of calls.
same "threads: output" 0 "$("$cufence" run --sim --profiler -o "$tmp/db" -- "$helper" 400 4 2>"$tmp/err")"
same "threads: every window" "50 51" "$(query "SELECT sum(work) || ' ' || sum(1 - work) FROM recording")"
# On a busy machine no finding may be worth a replay.
same "threads: what lies between windows is not replayed" "" \
	"$(query "SELECT ifnull(refusal, 'none') FROM replay WHERE refusal IS NOT 'parts of the run were recorded'")"
same "threads: every allocation" "1600 1600" \
	"$(query "SELECT count(created) || ' ' || count(freed) FROM allocation")"
same "threads: work was recorded within windows only" 1 "$(query "SELECT count(*) BETWEEN 1 AND 1599
	FROM operation")"
same "threads: nothing was lost" "" "$(query "SELECT reason FROM loss WHERE reason NOT IN
	('passed_through')")"

# Nothing was recorded: that is never a clean run.
for try in "--nvtx other|no NVTX range of that name" "--delay 100|ended within --delay"; do
	record "${try%|*}" ${try%|*}
	holds "${try%|*}" 0
	has "${try%|*}: said" "incomplete: no work was recorded: .*${try#*|}" "$(cat "$tmp/err")"
	"$cufence" check "$tmp/db" >/dev/null 2>&1
	same "${try%|*}: check fails" 2 $?
done
rounds=3 record "no profiler start" --profiler
has "no profiler start: said" "never called cudaProfilerStart" "$(cat "$tmp/err")"

# The trace's own size: work goes first.
rounds=20000 record "size" --max-size 1M --keep-trace
same "size: it is kept" 1 "$(find "$tmp" -name '*.cft' -size -1025k | wc -l)"
has "size: said" 'incomplete: work was no longer recorded once the trace had reached --max-size' "$(cat "$tmp/err")"
same "size: memory is tracked beyond the work" 1 "$(query "SELECT (SELECT max(c.id) FROM call c JOIN call_type t
	ON t.id = type WHERE kind = 'alloc_device') > (SELECT max(c.id) FROM call c JOIN call_type t
	ON t.id = type WHERE kind = 'launch')")"
for bad in "--max-size 10" "--max-size 5x" "--delay -1" "--duration soon"; do
	"$cufence" run $bad -- true >/dev/null 2>&1
	same "run $bad" 125 $?
done
for good in .5 0.25 1. 30; do
	"$cufence" run -o "$tmp/db" --delay $good -- true >/dev/null 2>&1
	same "run --delay $good" 0 $?
done

# Without the wrapper; and as text and back.
mkdir "$tmp/out"
preload=$build/lib/libcufence.so
nm -D "$preload" | grep -q __asan_init && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
CUFENCE_PROFILER=1 CUFENCE_OUT=$tmp/out LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$preload "$helper" >/dev/null
"$cufence" dump "$tmp"/out/*.cft >"$tmp/text"
same "by environment: windows as text" "open=0 cause=3|open=1 cause=3|open=0 cause=3" \
	"$(sed -n 's/^window \(open=. cause=.\) ticks=.*/\1/p' "$tmp/text" | paste -sd'|')"

# Without the wrapper a bad value is reported, and the program runs and is traced without it.
for variable in MODE=half GRAPHS=both DELAY=abc DURATION=-1 MAX_SIZE=5x FLUSH_MS=soon SIM_DEVICES=two; do
	rm -rf "$tmp"/out/*
	env "CUFENCE_$variable" CUFENCE_OUT="$tmp/out" LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$preload" \
		"$helper" >"$tmp/output" 2>"$tmp/err"
	same "by environment: $variable: output" 0 "$(cat "$tmp/output")"
	has "by environment: $variable is ignored" "^cufence: ignoring CUFENCE_$variable: it must be " "$(cat "$tmp/err")"
	same "by environment: $variable: in one line" 1 "$(wc -l <"$tmp/err")"
	same "by environment: $variable: all is traced" 13 "$("$cufence" dump "$tmp"/out/*.cft | grep -c '^call cuLaunchKernel ')"
done
CUFENCE_CUPTI=/none CUFENCE_OUT=$tmp LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$preload "$helper" >/dev/null 2>"$tmp/err"
has "by environment: a CUPTI that is not there" 'cannot load CUFENCE_CUPTI=/none' "$(cat "$tmp/err")"
"$cufence" undump "$tmp/text" -o "$tmp/again.cft"
same "and back" "$(md5sum <"$tmp/text")" "$("$cufence" dump "$tmp/again.cft" | md5sum)"
finish
