#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Samples of a run: what is found in them, extrapolated, is what a full run has; what they cost is
# bounded by their length; a program that is idle has empty ones.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
preload=$build/lib/libcufence.so
conforms=$build/tests/helpers/conforms
schema=$(cd "$(dirname "$0")/../.." && pwd)/doc/report.schema.json
needs "$cufence" "$build/tests/helpers/server" "$conforms" "$build/lib/libcufence.so"
sanitized && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
cd "$tmp" || exit 1
. "$here/serve.sh"

end() { # TEXT
	leave "$1"
	wait "${started[-1]}"
	same "$1: status" 0 $?
}
until_windows() { # N: requests until so many samples are over; samples are only begun by calls
	local i trace
	for ((i = 0; i < 4000; i++)); do
		turns 50
		[ $((i % 20)) -ne 0 ] || [ "$("$cufence" ps --folder "$(echo "$PWD"/*.traces-*)" 2>/dev/null |
			awk 'NR == 2 { print ($2 == "paused" && $3 >= '"$1"') }')" != 1 ] || return 0
	done
	ok "$1 samples" 1
}

# Many requests at a time: a turn that does not come within 25 ms is no longer waited for.
until_turns() { # TRACE: requests until samples of whole turns were made
	local until=$((SECONDS + 180))
	while ((SECONDS < until)); do
		turns 2000
		! "$cufence" dump $1 2>/dev/null | head -n 1 | grep -Eq 'turn_windows=([3-9]|[1-9][0-9])' || return 0
	done
	ok "samples of whole turns" 1
}

serve_run --sample=0.3 -o sampled.db
until_windows 5
all=$total
end "sampled"
serve_run -o full.db
turns "$all"
end "full"
# With what of CUPTI's opening the simulated clock sees, up to half.
same "samples are 50 ms" 1 "$(query sampled.db "SELECT count(*) >= 5 AND max(end - start) < 51000000 AND
	min(end - start) > 24900000 FROM recording WHERE work AND end < (SELECT end FROM process)")"
same "... of more" 1 "$(query sampled.db "SELECT sum((end - start) * work) < 0.8 * sum(end - start)
	FROM recording")"
same "... and smaller" 1 $(($(stat -c %s sampled.db) < $(stat -c %s full.db)))
truth=$(query full.db "SELECT waited FROM finding WHERE rule = 'blocking-free'")
times=$(query full.db "SELECT count FROM finding WHERE rule = 'blocking-free'")
same "the time of a full run ($truth ns), to 2 %" 1 "$(query sampled.db "SELECT abs(waited - $truth) <
	0.02 * $truth FROM finding_sample")"
same "... and its number ($times), to 2 %" 1 "$(query sampled.db "SELECT abs(count - $times) <
	0.02 * $times FROM finding_sample")"
"$cufence" report sampled.db >report.txt
has "the report says so" '^    all  about [0-9.]+ ms host wait \([0-9.]+ ms to [0-9.]+ ms\), [0-9]+ times \([0-9]+ to [0-9]+\) in all .*: extrapolated from [0-9]+ samples$' \
	"$(cat report.txt)"
has "... and of what" 'recorded [0-9]+ ms of [0-9.]+ m?s, in [0-9]+ windows \(by sample(, [0-9]+ of them whole turns)?\)' "$(cat report.txt)"
same "JSON says so" 1 "$("$cufence" report --format json sampled.db |
	grep -cE '"sample":\{"windows":[0-9]+,"recorded_ns":[0-9]+,"whole_ns":[0-9]+,"count":[0-9]+,"count_low":[0-9]+')"
"$cufence" report --format json sampled.db | "$conforms" "$schema" -
ok "... as its schema says" $?
same "a full run has no such line" 0 "$("$cufence" report full.db | grep -c 'extrapolated')"

# By turns: from the beginning of a range, with what is between them.
serve_run --sample=0.2 --nvtx turn --turns 40 -o turns.db
until_windows 4
end "turns"
same "turns: so many in each sample" "40 40" "$(query turns.db "SELECT min(n) || ' ' || max(n) FROM (SELECT
	count(*) AS n FROM recording r JOIN call c ON c.enter BETWEEN r.start AND r.end JOIN call_type t
	ON t.id = c.type WHERE t.name = 'cuLaunchKernel' AND r.work GROUP BY r.start)")"

# Whole turns, of the loop that was found in the first window: of 9 ms, five fit, and two if CUPTI
# takes long to open.
export CUFENCE_SIM_KERNEL_US=9000
serve_run --sample=0.2 -o loop.db
until_turns "loop.db.traces-*/*.cft"
end "loop"
unset CUFENCE_SIM_KERNEL_US
windows=$(query loop.db "SELECT value FROM property WHERE name = 'turn_windows'")
same "loop: windows are whole turns" 1 "$((${windows:-0} >= 3))"
same "loop: as many as fit" "$windows" "$(query loop.db "SELECT count(*) FROM (SELECT r.start, count(*) AS turns,
	min(c.enter) AS first FROM recording r JOIN call c ON c.enter BETWEEN r.start AND r.end JOIN call_type t ON
	t.id = c.type WHERE r.work AND t.name = 'cuLaunchKernel' GROUP BY r.start) w WHERE turns BETWEEN 2 AND 5 AND first = (SELECT
	min(enter) FROM call WHERE enter >= w.start)")"
has "loop: said" "windows \(by sample, $windows of them whole turns\)" "$("$cufence" report loop.db)"

# An idle server: no sample lasts until it is asked again.
serve_run --sample=0.2 -o idle.db
turns 20
sleep 2
turns 20
end "idle"
same "idle: empty samples" 1 "$(query idle.db "SELECT CAST(value AS INTEGER) BETWEEN 3 AND 12 FROM property
	WHERE name = 'empty_windows'")"
serve_run --sample=30 -o short.db
turns 20
end "short"
has "a short program: it says that there is nothing" \
	'incomplete: no work was recorded: the process ended before its first sample' "$("$cufence" report short.db)"

# Killed in a sample or between two: what was recorded is there.
for signal in TERM INT KILL; do
	serve_run --sample=0.3 -o killed.db
	until_windows 2
	"$cufence" ps --folder "$(echo "$PWD"/killed.db.traces-*)" >ps.txt
	kill -$signal "$(awk 'NR == 2 { print $1 }' ps.txt)"
	wait "${started[-1]}"
	status=$?
	same "$signal: status" $((128 + $(kill -l $signal))) $status
	exec 4>&- 5<&-
	same "$signal: the finding" 1 "$(query killed.db "SELECT count(*) FROM finding f JOIN finding_sample s
		ON s.finding = f.id WHERE rule = 'blocking-free' AND windows >= 2")"
done

# LD_PRELOAD alone, and who asks for samples on the other side of the folder.
mkdir shared
serve env CUFENCE_OUT="$PWD/shared" CUFENCE_PAUSED=sample LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$preload" \
	WITHOUT_GRAPH=1
turns 10
"$cufence" collect --folder shared --sample=0.2 4>&- 5<&- &
collector=$!
started+=($collector)
until_turns "shared/*.cft"
leave "collect"
kill -INT $collector
wait $collector
same "collect: status" 0 $?
"$cufence" load shared/*.cft -o collected.db >load.txt 2>&1
# On a busy machine the kernels may end before their memory is freed, and then there is no finding.
same "collect: samples" 1 "$(query collected.db "SELECT count(*) >= 3 FROM recording WHERE work AND cause = 'sample'")"
same "... in which a finding is extrapolated from those that have it" 0 "$(query collected.db "SELECT count(*) FROM finding f
	WHERE rule = 'blocking-free' AND f.id NOT IN (SELECT finding FROM finding_sample WHERE windows >= 1)")"
same "collect: later ones of whole turns" 1 "$(query collected.db "SELECT CAST(value AS INTEGER) >= 1 FROM property
	WHERE name = 'turn_windows'")"
for bad in "" "--folder shared" "--sample" "--folder shared --sample --ring 30s" "--folder shared --ring x"; do
	"$cufence" collect $bad >/dev/null 2>&1
	same "collect $bad" 2 $?
done

for bad in "--sample=0" "--sample=x" "--sample=0.1" "--sample --paused"; do
	"$cufence" run $bad -- true >/dev/null 2>&1
	same "run $bad" 125 $?
done
finish
