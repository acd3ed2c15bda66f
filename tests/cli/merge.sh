#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence merge": the ranks of a distributed program in one database and on one screen.  Most are one
# run on the simulated device, whose trace gets other variables of the launcher.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$build/sim/libcuda.so.1" "$build/testapps/free_in_loop" "$build/testapps/free_in_loop_fixed"
cd "$tmp" || exit 1

# One program, of which a rank has an older version.
mkdir good bad ranks
cp "$build/testapps/free_in_loop_fixed" good/app
cp "$build/testapps/free_in_loop" bad/app
for version in good bad; do
	RANK=0 LOCAL_RANK=0 WORLD_SIZE=64 NCCL_ALGO=Ring CUDA_VISIBLE_DEVICES=0 "$cufence" run --sim --quiet --keep-trace \
		-o $version.db -- $version/app >/dev/null 2>&1
	"$cufence" dump $version.db.traces-*/*.cft >$version.txt
	ok "$version: is traced" $?
done
rank() { # NUMBER VERSION SED-EXPRESSION: ranks/NUMBER.db
	sed "s/\(name=\"env.RANK\" value=\)\"0\"/\1\"$1\"/; s/\(name=\"host\" value=\)\"[^\"]*\"/\1\"node$(($1 / 8))\"/
		s/\(name=\"CUDA_VISIBLE_DEVICES\" value=\)\"0\"/\1\"$(($1 % 8))\"/; $3" "$2.txt" |
		"$cufence" undump - -o "$1.cft" && "$cufence" load "$1.cft" -o "ranks/$1.db" --without-trace 2>err
}
for ((r = 0; r < 64; r++)); do
	case $r in
	17) rank $r bad '' ;;
	40) rank $r good 's/\(name="env.NCCL_ALGO" value=\)"Ring"/\1"Tree"/' ;;
	*) rank $r good '' ;;
	esac
done
same "64 ranks have databases" 64 "$(find ranks -name '*.db' | wc -l)"

# --- text ---
"$cufence" merge all.db ranks/*.db >text 2>err
same "merge: the exit status, no message" "0 " "$? $(cat err)"
has "how many there are" '^cufence: 64 ranks on 8 hosts, of 64 databases$' "$(cat text)"
has "how long a turn takes" '^    turn     1\.6 ms, from 1\.6 ms to 3\.0 ms, loop at free_in_loop\.cu:[0-9]+$' "$(cat text)"
same "none is missing" 0 "$(grep -c '^    missing' text)"
has "a setting that differs" "^    differ   NCCL_ALGO: 'Ring' in 63 ranks, 'Tree' in rank 40$" "$(cat text)"
same "but none of the launcher" 1 "$(grep -c '^    differ' text)"
same "one rank deviates" "rank 17 deviates: turn 3.0 ms, median 1.6 ms [host node2, device 0, ranks/17.db]" "$(grep deviates text)"
same "first of all by a finding that no other has" "    +1.5 ms   blocking-free at free_in_loop.cu:22 free_scratch, in 1 rank" \
	"$(grep -A1 deviates text | tail -n 1)"
has "the finding, with its worst rank" \
	'^1 of 64 .* rank 17 +free_in_loop\.cu:22 free_scratch: blocking-free: cudaFree waited .* \[high\]$' "$(cat text)"
[ "$(wc -l <text)" -le 24 ]
ok "fits on a screen" $?
"$cufence" report all.db >again
same "report prints the same" "$(cat text)" "$(cat again)"
"$cufence" report --format sarif all.db >/dev/null 2>err
same "but in no other format" 2 $?
has "and says why" "'all.db' is a merged database, of which there is text and json" "$(cat err)"

# --- numbers ---
"$cufence" report --format json all.db >json
if command -v python3 >/dev/null; then
	same "JSON: members, settings, deviations, findings" "64 turn NCCL_ALGO 63 1 17 17 1" "$(python3 -c 'if 1:
		import json
		all = json.load(open("json"))
		rank = {m["member"]: m["rank"] for m in all["members"]}
		setting = all["settings"][0]
		print(len(rank), all["per"], setting["name"], *sorted((len(v["members"]) for v in setting["values"]),
			reverse=True), *{rank[d["member"]] for d in all["deviations"]}, rank[all["findings"][0]["worst"]],
			all["findings"][0]["members"])')"
fi
one() { # DATABASE SQL
	"$cufence" query "$1" "$2"
}
same "a rank's numbers are those of its database" \
	"$(one ranks/17.db "SELECT l.end - l.start - l.paused, l.turns, p.end - p.start, (SELECT sum(time) FROM account
		WHERE device IS NULL AND cause = 'held') FROM loop l, process p")" \
	"$(one all.db "SELECT t.time, m.turns, m.duration, h.time FROM member m JOIN member_time t ON t.member = m.id
		AND t.what = 'turn' JOIN member_time h ON h.member = m.id AND h.what = 'held' AND h.place = '' WHERE m.rank = 17")"
same "kernels of the loop" \
	"$(one ranks/17.db "SELECT sum(o.end - o.start) FROM operation o, loop l WHERE o.kind = 'kernel'
		AND o.start BETWEEN l.start AND l.end")" \
	"$(one all.db "SELECT time FROM member_time JOIN member m ON m.id = member WHERE rank = 17 AND what = 'kernels' AND place = ''")"
same "a finding's cost is its saving per turn" "$(one ranks/17.db "SELECT saving / turns FROM finding, loop
	WHERE rule = 'blocking-free'")" "$(one all.db "SELECT most FROM merged_finding WHERE rule = 'blocking-free'")"
same "calls stay where they are" 0 "$(one all.db 'SELECT count(*) FROM call')"

# --- what is missing, or there twice ---
"$cufence" merge few.db ranks/1.db ranks/2.db ranks/4.db ranks/17.db >text
has "ranks that are missing" '^    missing  ranks 0, 3, 5-16, 18-63$' "$(cat text)"
"$cufence" merge twice.db ranks/1.db ranks/1.db ranks/3.db >text
has "a rank that is there twice" '^    twice    rank 1: databases of one run have each once$' "$(cat text)"
"$cufence" merge two.db ranks/17.db ranks/3.db >text
same "of two ranks the slower one deviates" "rank 17 deviates" "$(grep -o '^rank [0-9]* deviates' text)"
"$cufence" merge equal.db ranks/{1..9}.db >text
has "of equal ones none does" '^no rank deviates$' "$(cat text)"

# --- other causes ---
rank 5 good 's/_ZN[^" ]*accumulate[^" ]*/ncclDevKernel_AllReduce/g'
"$cufence" merge nccl.db ranks/5.db ranks/6.db >/dev/null
same "kernels that wait for other devices are collectives" "5 collectives|5 kernels|6 kernels" "$(one nccl.db "SELECT group_concat(rank || ' '
	|| what, '|') FROM member_time JOIN member m ON m.id = member WHERE what IN ('kernels', 'collectives') AND place = '' ORDER BY rank")"
if command -v sqlite3 >/dev/null; then
	sqlite3 ranks/7.db "INSERT INTO account SELECT 1, NULL, 'computing', (SELECT min(id) FROM site WHERE text GLOB '*.cu:5*'),
		(SELECT max(id) FROM site WHERE text GLOB '*.cu:5*'), 30 * 500000, 30;
		UPDATE loop SET end = end + 30 * 500000; UPDATE process SET end = end + 30 * 500000"
	sqlite3 ranks/8.db "DELETE FROM turn; DELETE FROM loop"
	sqlite3 ranks/9.db "UPDATE process SET closed = 0, driver_version = 12040; INSERT INTO loss VALUES (1, 'dropped_device', 1)"
	"$cufence" merge host.db ranks/{0..7}.db >text
	same "a host that computes for longer" "rank 7 deviates" "$(grep -o '^rank 7 deviates' text)"
	has "is told with its lines" '^    \+5[0-9][0-9] us +computing outside CUDA: free_in_loop\.cu:5[0-9] to free_in_loop\.cu:5[0-9], median ' "$(cat text)"
	"$cufence" merge run.db ranks/{0..3}.db ranks/8.db >text
	has "a rank without a loop: all are compared by run" '^    run ' "$(cat text)"
	"$cufence" merge died.db ranks/1.db ranks/9.db >text
	has "one that died" '^    killed   rank 9 did not end normally$' "$(cat text)"
	has "with gaps" '^    gaps     rank 9: their traces are incomplete$' "$(cat text)"
	has "another driver" "^    differ   driver: '12\.4' in rank 9, '[0-9.]+' in rank 1$" "$(cat text)"
fi

# --- traces; one database with several ranks ---
"$cufence" merge traces.db 17.cft 40.cft >text
same "traces are ranks, too" "2 ranks rank 17 deviates" "$(grep -o '[0-9]* ranks' text | head -n 1) $(grep -o '^rank [0-9]* deviates' text)"
"$cufence" load 17.cft 40.cft 41.cft -o three.db 2>/dev/null && "$cufence" merge front.db three.db >text
has "a database with several" '^cufence: 3 ranks on 2 hosts, of 1 database$' "$(cat text)"
has "has them by their rank" '^rank 17 deviates: ' "$(cat text)"

# --- a signal while sources are read in child processes leaves no part of any ---
stopped=0
for delay in 0 0.01 0.02 0.03 0.04 0.05 0.06 0.08 0.1; do
	"$cufence" merge killed.db {1..40}.cft >/dev/null 2>err &
	sleep $delay
	kill -TERM $! 2>/dev/null
	wait $!
	[ $? -ne 143 ] || stopped=$((stopped + 1))
	for ((i = 0; i < 100; i++)); do pgrep -f "merge killed.db" >/dev/null || break; sleep 0.05; done
	same "TERM after $delay s: nothing is left" "" "$(find . -name 'killed.db.tmp*')"
done
ok "it was stopped at times: $stopped" $((stopped < 3))

# --- what is refused ---
refused() { # TEXT PATTERN ARGUMENT...
	local text=$1 pattern=$2
	shift 2
	"$cufence" merge "$@" >/dev/null 2>err
	same "$text: the exit status" 2 $?
	has "$text" "$pattern" "$(cat err)"
}
refused "the output among the inputs" "'ranks/1.db' is the database to write and one to read" ranks/1.db ranks/1.db
refused "a run's database as the output" "'ranks/1.db' is the database of a run: name the one to write first" ranks/1.db ranks/2.db
"$cufence" merge few.db ranks/{2..4}.db >/dev/null
same "a merged one is replaced" 3 "$(one few.db 'SELECT count(*) FROM member')"
refused "a merged database" "'all.db' is a merged database: name those of the ranks" x.db all.db ranks/1.db
refused "a file that is neither" "cannot load 'text'" x.db text
refused "a file that is not there" "'none.db'" x.db none.db
"$cufence" run --sim --quiet -o empty.db -- true 2>/dev/null
refused "one without CUDA" "'empty.db' has no process that used CUDA" x.db ranks/1.db empty.db
refused "another format" '\-\-format is text or json' --format sarif x.db ranks/1.db
same "what failed leaves nothing" 0 "$(find . -name 'x.db*' | wc -l)"
finish
