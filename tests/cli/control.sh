#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Control of running processes: a server is started, stopped and looked at, CYCLES (30) times, and is as it
# would be without that; processes that are killed meanwhile; windows that end, and Ctrl-C.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
preload=$build/lib/libcufence.so
needs "$cufence" "$build/tests/helpers/server" "$preload"
sanitized && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
cd "$tmp" || exit 1
. "$here/serve.sh"
shop=shop$$ # tests of others run beside this one

# Nothing is written to this pipe: reading from it is a pause without a process.
mkfifo never
exec 6<>never
ask() { # COMMAND ARGUMENT...: while the server gets requests of one turn, as it answers at a call
	local pid
	"$cufence" "$@" >said 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		turns 1
		read -r -t 0.005 -u 6
	done
	wait "$pid"
}
state() { "$cufence" ps -s $shop | awk 'NR == 2 { print $2, $3 }'; }
server_pid() { "$cufence" ps -s $shop | awk 'NR == 2 { print $1 }'; }
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
expect="blocking-free certain turn:.* -> launch:"

serve env WITHOUT_GRAPH=1 "$cufence" run --sim --session $shop --paused --quiet -o run.db --
run=${started[-1]}
turns 20
same "ps: paused from the start" "paused 0" "$(state)"
pid=$(server_pid)
"$cufence" why-stuck "$pid" >said 2>&1 # what CUPTI holds is asked for
same "why-stuck: before CUPTI was opened" "paused 0" "$(state)"
has "ps: its command" "$server\$" "$("$cufence" ps)"
trace=$(ls "$tmp"/run.db.traces-*/*.cft)
before=$(stat -c %b "$trace")
turns 20000
same "paused: the trace does not grow" "$before" "$(stat -c %b "$trace")"
missing=0 cycles=${CYCLES:-30}
sanitized && cycles=10 # memory is no question there
for ((cycle = 1; cycle <= cycles; cycle++)); do
	ask start "$pid"
	[ "$(state)" = "recording $cycle" ] || missing=$((missing + 1))
	turns 50
	ask stop -s $shop
	turns 10
	ask snapshot "$pid" --report snapshot.txt -o snapshot.db
	grep -q '^blocking-free: cuMemFree waited' snapshot.txt &&
		[[ $(query snapshot.db expect) =~ $expect ]] || missing=$((missing + 1))
	[ "$cycle" -ne 10 ] || resident=$(resident "$pid")
done
same "$cycles cycles: each is there, and so is its finding" 0 $missing
same "one window: it is replayed" 1 "$(query snapshot.db "SELECT refusal IS NULL FROM replay")"
same "one window: as if it were all" 1 "$(query snapshot.db "SELECT sum(work) FROM recording")"
same "memory from before the windows is known" 1 "$(query snapshot.db "SELECT count(*) FROM allocation
	WHERE bytes = 1048576")"
same "... and what kernels do with it" 0 "$(query snapshot.db "SELECT count(*) FROM call c JOIN call_type t
	ON t.id = c.type WHERE t.kind = 'launch' AND NOT EXISTS (SELECT 1 FROM operand o JOIN allocation a
	ON a.id = o.allocation WHERE o.call = c.id AND a.bytes = 1048576)")"
same "... and which code they are" 1 "$(query snapshot.db "SELECT count(*) > 0 FROM kernel_image")"
same "... and the stream" "" "$(query snapshot.db "SELECT reason FROM loss WHERE reason <> 'passed_through'")"
sanitized || { [ "$(resident "$pid")" -le $((resident + 512)) ]; ok "memory is flat: $resident, $(resident "$pid") KiB" $?; }
ask flush -s $shop
ok "flush" $?
leave "$cycles cycles"
wait "$run"
same "$cycles cycles: status" 0 $?
same "the run's own database has all windows" $cycles "$(query run.db "SELECT sum(work) FROM recording")"

# Updates of an executable graph: later ones replace earlier ones.
serve env NODES=700 "$cufence" run --sim --session $shop --paused --quiet -o updates.db --
run=${started[-1]}
turns 20
trace=$(ls "$tmp"/updates.db.traces-*/*.cft)
before=$(stat -c %b "$trace")
turns 100
same "70000 updates of a graph: the trace does not grow" "$before" "$(stat -c %b "$trace")"
ask start -s $shop
turns 3
ask stop -s $shop
mapping="import mmap, sys; file = open(sys.argv[1], 'rb')
at = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); print(flush=True); sys.stdin.read()"
python3 -c "$mapping" "$trace" <&6 >mapped 4>&- 5<&- &
started+=($!)
for ((i = 0; i < 1000; i++)); do [ -s mapped ] || read -r -t 0.01 -u 6; done
leave "70000 updates of a graph"
wait "$run"
same "who reads a trace, as a snapshot does, is no process that is still running" "" "$(grep "still running" err)"
has "... the report: what its device did is not known" "idle     not known" "$("$cufence" report updates.db)"
updated="FROM call c JOIN call_type t ON t.id = c.type JOIN recording r ON r.work AND c.enter < r.start
	WHERE t.kind = 'exec_set'"
known=$(query updates.db "SELECT count(*) $updated")
[ "$known" -ge 700 ] && [ "$known" -le 20000 ]
ok "... the last one of each node is known: $known" $?
same "... and what a launch accesses: what was captured, and what was set last" "2 2" "$(query updates.db "SELECT min(n), max(n)
	FROM (SELECT count(DISTINCT o.allocation) n FROM call c JOIN call_type t ON t.id = c.type
	JOIN operand o ON o.call = c.id WHERE t.kind = 'graph_launch' GROUP BY c.id)" | tr '\t' ' ')"

# What says the same each time is recorded once while nothing else is: also after code was unloaded.
serve env ASKS=1 "$cufence" run --sim --session $shop --paused --quiet -o asks.db --
run=${started[-1]}
turns 100
ask start -s $shop
turns 3
ask stop -s $shop
turns 20
leave "a function that is asked for again and again"
wait "$run"
same "a function that is asked for again and again: two of 100 in a pause, each in a window" "2 1" "$(query asks.db "SELECT
	sum(c.enter < r.start) || ' ' || (sum(c.enter >= r.start) >= 3) FROM call c JOIN call_type t ON t.id = c.type
	JOIN recording r ON r.work WHERE t.name = 'cuKernelGetFunction'")"
"$cufence" stop "$pid" 2>err
same "a process that has ended" 2 $?
has "... is not traced" "process $pid is not being traced" "$(cat err)"
"$cufence" start 2>err
same "a process must be named" 2 $?

# A snapshot while work is recorded; and executables that are older than the recording.
serve "$cufence" run --sim --session $shop --paused --quiet -o run.db --
turns 20
ask start -s $shop
turns 100
ask snapshot -s $shop -o snapshot.db --report snapshot.txt
has "recording: the finding" '^blocking-free: cuMemFree waited' "$(cat snapshot.txt)"
has "recording: it says so" 'the process was still running when its trace was read' "$(cat snapshot.txt)"
same "older graphs are not timed" "0 1" "$(query snapshot.db "SELECT count(*) || ' ' || (SELECT count
	FROM loss WHERE reason = 'older_graphs') FROM operation WHERE kind = 'graph'")"
same "... but the kernels beside them are" 1 "$(query snapshot.db "SELECT count(*) >= 100 FROM operation
	WHERE kind = 'kernel'")"
leave "recording"
wait "${started[-1]}"

# CUPTI is closed between windows, also while many threads are at work (the simulator's ends the process
# if one of them is in a call), and what it is opened with again fits.
detached() { # prints how often; 0 also while there is no trace
	local times
	times=$("$cufence" dump run.db.traces-*/*.cft 2>/dev/null | head -n 1 | sed -n 's/.* detached=\([0-9]*\).*/\1/p')
	echo "${times:-0}"
}
for crowd in 0 7; do
	CROWD=$crowd WITHOUT_GRAPH=1 "$cufence" run --sim --session $shop --paused --quiet -o run.db -- \
		"$server" forever >out.txt 2>err &
	run=$!
	started+=($run)
	until grep -q serving err; do sleep 0.02; done
	# On a busy machine a thread may always be preempted within a call: then it stays until the next one.
	for ((cycle = 1; cycle <= 15 && $(detached) < 5; cycle++)); do
		closed=$(detached)
		"$cufence" start -s $shop 2>said
		read -r -t 0.02 -u 6
		"$cufence" stop -s $shop 2>said
		for ((i = 0; i < 60 && $(detached) == closed; i++)); do
			read -r -t 0.05 -u 6
		done
	done
	same "CUPTI, $crowd more threads: closed after five windows" 5 "$(detached)"
	"$cufence" snapshot -s $shop --report snapshot.txt -o snapshot.db 2>said
	has "CUPTI, $crowd more threads: the finding" '^blocking-free: cuMemFree waited' "$(cat snapshot.txt)"
	kill -TERM "$(server_pid)"
	wait $run
	same "CUPTI, $crowd more threads: the program's end" 143 $?
	same "CUPTI, $crowd more threads: no number twice" 0 "$(query run.db "SELECT count(*) - count(DISTINCT
		correlation) FROM call WHERE correlation IS NOT NULL")"
	same "CUPTI, $crowd more threads: an operation is its call's" 0 "$(query run.db "SELECT count(*) FROM operation o
		JOIN call c ON c.id = o.call JOIN call_type t ON t.id = c.type WHERE t.kind <> 'launch' OR o.start < c.enter")"
	same "CUPTI, $crowd more threads: launches have operations" 1 "$(query run.db "SELECT avg(o.id IS NOT NULL) > 0.99
		FROM call c JOIN call_type t ON t.id = c.type AND t.kind = 'launch' LEFT JOIN operation o ON o.call = c.id")"
	rm -rf run.db
done

# --- LD_PRELOAD alone, found by its folder; killed while it is asked ---
mkdir shared
by_hand() { # ARGUMENT...: the server, as the last one started
	rm -rf shared/*
	: >by_hand.err # the last one's, until the new one is there
	CUFENCE_OUT=$tmp/shared CUFENCE_SESSION=$shop LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$preload \
		env --default-signal=INT "$server" "$@" >by_hand.out 2>by_hand.err &
	started+=($!)
	until grep -q serving by_hand.err; do sleep 0.02; done
}
CUFENCE_PAUSED=1 by_hand forever
pid=${started[-1]}
same "by environment: its state" "paused" "$("$cufence" ps --folder shared | awk 'NR == 2 { print $2 }')"
"$cufence" start --folder shared "$pid" 2>err
has "by environment: start" "process $pid: recording" "$(cat err)"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
same "by environment: a dead process holds no lock" "" "$("$cufence" ps --folder shared 2>/dev/null)"
# A container: the process has another id there, and its trace may have another path.
if unshare -pfm --mount-proc true 2>/dev/null; then
	rm -rf shared/*
	: >by_hand.err
	CUFENCE_OUT=$tmp/shared CUFENCE_SESSION=$shop LD_LIBRARY_PATH=$build/sim unshare -pfm --mount-proc \
		env LD_PRELOAD="$preload" "$server" forever >by_hand.out 2>by_hand.err &
	started+=($!)
	until grep -q serving by_hand.err; do sleep 0.02; done
	same "container: by its own id" "1 recording" \
		"$("$cufence" ps --folder shared | awk 'NR == 2 { print $1, $2 }')"
	"$cufence" snapshot --folder shared --report snapshot.txt -o snapshot.db 2>err
	same "container: it goes on" "still_running" "$(query snapshot.db "SELECT group_concat(reason) FROM loss
		WHERE reason IN ('still_running', 'not_closed')")"
	pkill -KILL -P "${started[-1]}"
	wait "${started[-1]}" 2>/dev/null
fi
for signal in TERM INT KILL; do
	for command in start stop snapshot; do
		for after in 0 0.005; do
			by_hand forever
			pid=${started[-1]}
			"$cufence" "$command" "$pid" >/dev/null 2>&1 &
			asker=$!
			sleep $after
			kill -$signal "$pid"
			wait "$pid" 2>/dev/null
			status=$?
			same "$signal at $command: its end" $((128 + $(kill -l $signal))) $status
			wait "$asker"
			"$cufence" dump shared/*.cft >dump 2>err
			same "$signal at $command: the trace reads" "0 0" "$? $(wc -l <err)"
		done
	done
done

# --- windows that end, and Ctrl-C ---
until_file() { # FILE: there and not empty
	local i
	for ((i = 0; i < 1200; i++)); do [ -s "$1" ] && return; sleep 0.05; done
	return 1
}
for how in "--duration 0.02" "--nvtx turn --turns 300"; do
	rm -f early.txt
	"$cufence" run --sim --session $shop $how --report early.txt --quiet -o early.db -- "$server" forever >out.txt 2>err &
	started+=($!)
	until_file early.txt
	ok "$how: a report" $?
	pid=$(server_pid)
	same "$how: while the program goes on" over "$("$cufence" ps -s $shop | awk -v p="$pid" '$1 == p { print $2 }')"
	has "$how: the finding" '^blocking-free: cuMemFree waited' "$(cat early.txt)"
	kill -TERM "${pid:-${started[-1]}}" # "run" passes it on
	wait "${started[-1]}"
	same "$how: the program's status" 143 $?
	same "$how: one report" "" "$(ls | grep 'early.db.old')"
	rm -f early.db
done
rm -f early.txt
# As from a terminal: to the whole group.
: >err
setsid "$cufence" run --sim --report early.txt --quiet -o early.db -- "$server" 2 >out.txt 2>err &
started+=($!)
until grep -q serving err; do sleep 0.05; done
kill -INT -- "-${started[-1]}"
until_file early.txt
ok "Ctrl-C: a report while the program goes on" $?
has "Ctrl-C: the finding" '^blocking-free: cuMemFree waited' "$(cat early.txt)"
kill -INT -- "-${started[-1]}"
wait "${started[-1]}"
same "Ctrl-C: status" 0 $?
same "Ctrl-C: the program got both" "2 interrupts, 0" "$(cat out.txt)"
same "... and its later work is in the database, too" 1 "$(find . -name early.db.old | wc -l)"
finish
