#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence merge" matches collectives between ranks: which rank comes last, how long the others wait,
# and why; and ranks that do not call alike.  The stand-in for NCCL is told how long its kernels wait.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
app=$build/testapps/nccl_ranks
needs "$build/sim/libcuda.so.1" "$app"
cd "$tmp" || exit 1

# Four ranks, of which number 2 is late as MODE says: the others' kernels take so many ns longer.
ranks() { # MODE NS
	mkdir "$1"
	for rank in 0 1 2 3; do
		local mode=none ns=$((100000 + $2))
		[ $rank = 2 ] && mode=$1 ns=100000
		RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 MODE=$mode NCCL_TEST_NS=$ns "$cufence" run --sim --quiet \
			-o "$1/$rank.db" -- "$app" >/dev/null 2>"$1/err"
	done
	"$cufence" merge "$1.db" "$1"/[0-3].db >"$1.text" 2>err
	same "$1: the exit status, no message" "0 " "$? $(cat err)"
}
one() { # DATABASE SQL
	"$cufence" query "$1" "$2"
}
late() { # MODE: the line
	grep '^    late ' "$1.text"
}

ranks kernel 750000
has "a kernel that takes longer" "^    late     rank 2 comes last to 40 of 40 collectives, and the others wait 750 us for it \
\(67 %; their ends agree within [0-9.]+ [nu]s\): in kernel 'fill', 750 us more than they$" "$(late kernel)"
same "in numbers: who was last, what that cost, who waited" "0 0 0 30000000|1 0 0 30000000|2 40 30000000 0|3 0 0 30000000" \
	"$(one kernel.db "SELECT group_concat(m.rank || ' ' || last || ' ' || caused || ' ' || waited, '|') FROM straggler s
	JOIN member m ON m.id = s.member ORDER BY m.rank")"
"$cufence" report kernel.db >again
same "report prints the same" "$(cat kernel.text)" "$(cat again)"
if command -v python3 >/dev/null; then
	"$cufence" report --format json kernel.db >json
	same "and as JSON" "kernels fill 40" "$(python3 -c 'import json
late = json.load(open("json"))["stragglers"][0]
print(late["cause"], late["place"], late["last"])')"
fi
ranks host 220000
has "calls that take longer, with their line" \
	'others wait 220 us for it .*: in calls that submit: ranks\.cu:[0-9]+, [0-9]+ us more than they$' "$(late host)"
rm -r host
cp host.text one-thread.text
THREAD=1 ranks host 220000
has "and of the thread for which that waited that calls for the collective" \
	'others wait 220 us for it .*: in calls that submit: ranks\.cu:[0-9]+, 2[0-9]+ us more than they$' "$(late host)"
ranks finding 600000
has "a kernel that others do not have" "others wait 600 us for it .*: in kernel 'touch', 500 us more than they$" "$(late finding)"
ranks none 0
same "ranks that come together: none" "" "$(late none)"
same "nor is any order wrong" 0 "$(one none.db 'SELECT count(*) FROM merged_finding')"

# A finding that explains it goes before the sum that it is a part of.
if command -v sqlite3 >/dev/null; then
	cp finding/2.db whole.db
	sqlite3 finding/2.db "UPDATE finding SET saving = 600000 * 39, shown = 1 WHERE rule = 'blocking-free'"
	"$cufence" merge finding.db finding/[0-3].db >finding.text
	has "a finding of its own" 'it .*: blocking-free at ranks\.cu:[0-9]+ use_scratch, [0-9]+ us more than they$' "$(late finding)"
	# What takes long once, in another rank or in the late one elsewhere, is no reason to be late in each turn.
	once="cause = 'submit' AND collective = (SELECT id FROM collective WHERE sequence = 20)"
	sqlite3 host/0.db "UPDATE collective_time SET time = 1000000000, longest = 1000000000 WHERE ${once/20/21}"
	sqlite3 host/2.db "UPDATE collective_time SET longest = 100000 WHERE cause = 'submit';
		UPDATE collective_time SET time = 900000000, longest = 900000000, site = 1 WHERE $once"
	"$cufence" merge host.db host/[0-3].db >host.text
	has "what takes long once" "$(late one-thread | sed 's/.*\(in calls that submit: ranks.cu:[0-9]*\),.*/\1, 2[0-9]+ us more than they$/')" \
		"$(late host)"
	# Late once in ten turns: the others do not wait in the rest.
	for rank in 0 1 3; do
		sqlite3 kernel/$rank.db "UPDATE operation SET start = start + 750000 WHERE id IN (SELECT operation FROM collective
			WHERE sequence % 10)"
	done
	"$cufence" merge kernel.db kernel/[0-3].db >kernel.text
	has "a rank that is late now and then" 'the others wait 75 us for it \(6 %' "$(late kernel)"
	# Another host's clock is an hour ahead, and its kernels end a little later now and then.
	sqlite3 kernel/0.db "UPDATE run SET start_unix_ns = start_unix_ns + 3600000000000;
		UPDATE operation SET end = end + 2000 WHERE id IN (SELECT operation FROM collective WHERE sequence % 2)"
	"$cufence" merge kernel.db kernel/[0-3].db >kernel.text
	has "clocks need not agree" 'the others wait 75 us for it \(6 %; their ends agree within' "$(late kernel)"
	same "how far ends are apart is measured" 2000 "$(one kernel.db "SELECT max(error) FROM straggler")"
fi

# Ranks number collectives alike, whatever part of the run is recorded.
RANK=0 WORLD_SIZE=4 MODE=none NCCL_TEST_NS=100000 "$cufence" run --sim --quiet --delay 0.008 -o part.db -- "$app" >/dev/null 2>err
has "a part of a run: numbers of its collectives" '^([2-9]|[1-3][0-9])	40$' \
	"$(one part.db 'SELECT min(sequence), max(sequence) FROM collective')"
"$cufence" merge part-and-whole.db part.db none/3.db >text
same "and they are matched" "$(one part.db 'SELECT count(*) FROM collective')" \
	"$(one part-and-whole.db 'SELECT max(collectives) FROM straggler')"

# --- order ---
ranks order 0
has "a collective that others do not call" "^1 of 4 .* rank 2 +ranks\.cu:[0-9]+ gather: collective-order: call 21 of communicator \
[0-9a-f]{8} is ncclAllGather of 4096 float32, and ncclAllReduce of 16384 float32 in other ranks: .* \[high\]$" "$(cat order.text)"
same "is said once" 1 "$(grep -c 'collective-order' order.text)"
"$cufence" merge pair.db order/2.db order/3.db >text
has "of two it is said of the later rank" 'rank 3 .* collective-order: call 21 .* is ncclAllReduce .* and ncclAllGather' "$(cat text)"
"$cufence" merge three.db order/0.db order/1.db order/3.db >text
same "without it there is nothing" 0 "$(grep -c 'collective-order' text)"

# --- while it hangs ---
mkdir traces
RANK=1 WORLD_SIZE=4 MODE=none NCCL_TEST_NS=18446744073709551615 CUFENCE_OUT=$tmp/traces LD_LIBRARY_PATH=$build/sim \
	LD_PRELOAD="$(sanitized && ${CC:-gcc} -print-file-name=libasan.so) $build/lib/libcufence.so" "$app" >/dev/null 2>&1 &
hanging=$!
trap 'kill -KILL $hanging 2>/dev/null; rm -rf "$tmp"' EXIT
for ((i = 0; i < 200; i++)); do
	said=$(timeout 60 "$cufence" why-stuck --folder traces --all 2>&1)
	[[ $said = *"not ended: nccl"* ]] && break
	sleep 0.05
done
has "why-stuck names the collective" "^ +which has not ended: ncclAllReduce, call 1 of rank 1 of 4 in communicator [0-9a-f]{8}$" "$said"
kill -KILL $hanging
wait $hanging 2>/dev/null
finish
