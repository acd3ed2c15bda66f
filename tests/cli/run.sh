#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence run": the program's own output and exit status, and cufence's messages around them.
manual=$(cd "$(dirname "$0")/../../doc" && pwd)/cufence.1
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence" "$build/lib/libcufence.so"
cd "$tmp" || exit 1

run() { # WANTED_STATUS TEXT ARGUMENT...
	local wanted=$1 text=$2
	shift 2
	"$cufence" run "$@" >out 2>err
	same "$text" "$wanted" "$?"
}

sim=
[ -e "$build/sim/libcuda.so.1" ] && sim=--sim
run 0 "a program without CUDA" $sim -- sh -c 'echo hello; echo oops >&2'
same "its output is its own" hello "$(cat out)"
has "its stderr too" '^oops$' "$(cat err)"
has "nothing was traced" "nothing was traced: $([ "$sim" ] && echo 'it never called CUDA')" "$(cat err)"
"$cufence" check cufence.db 2>err
same "check of nothing" 2 "$?"
run 7 "its exit status" -- sh -c 'exit 7'
run 143 "128 + the signal" -- sh -c 'kill -TERM $$'
run 127 "not found" -- ./nowhere
has "not found says so" "cannot run './nowhere'" "$(cat err)"
echo text >plain
run 126 "not executable" -- ./plain
[ -z "$(ls -d ./*.traces-* 2>/dev/null)" ]
ok "no folders stay behind" $?
run 125 "bad mode" --mode half -- true
run 125 "bad folder" -o none/x.db -- true
CUFENCE_LIB=$tmp/none.so run 125 "no recorder" -- true
run 0 "operands are the program's" -- sh -c 'echo "$1 $2"' sh --sim -o
same "and arrive" "--sim -o" "$(cat out)"
CUFENCE_MODUS=host run 0 "an unknown setting" -- true
has "is named" "ignoring unknown variable CUFENCE_MODUS" "$(cat err)"
LD_PRELOAD=$build/lib/libcufence.so run 0 "preloads are prepended" -- sh -c 'echo $LD_PRELOAD'
same "before the user's" "$(realpath "$build/lib/libcufence.so"):$build/lib/libcufence.so" "$(cat out)"

# A terminal's Ctrl-C goes to both; the program decides, and its trace is still loaded.
(trap - INT; exec "$cufence" run -- sh -c 'trap "exit 3" TERM; echo up >up; while :; do sleep 0.05; done') >out 2>err &
pid=$!
for _ in $(seq 1200); do [ -e up ] && break; sleep 0.05; done
kill -TERM $pid
wait $pid
same "SIGTERM is passed on" 3 "$?"

# Whoever reads its messages may be gone before it has any.
(trap - PIPE; "$cufence" run -o piped.db -- sh -c 'exit 3' 2>&1; echo $? >status) | true
same "no reader: the program's status" 3 "$(cat status)"
same "no reader: no folder" "" "$(ls -d piped.db.traces-* 2>/dev/null)"
[ -e piped.db ]
ok "no reader: the database" $?
same "no reader: the program is stopped by SIGPIPE as without cufence" 141 "$(trap - PIPE; "$cufence" run -- \
	sh -c 'sh -c "kill -PIPE \$\$"; exit $?' >out 2>&1; echo $?)"

run 3 "a trace that was not finished" -o unfinished.db -- sh -c 'touch "$CUFENCE_OUT/cufence.1.cft.new"; exit 3'
same "leaves nothing behind" "" "$(ls | grep '^unfinished.db.traces')"

empty=$(grep -o 'CUFENCE_[A-Z_]*' "$manual" | sort -u | sed 's/$/=/')
# shellcheck disable=SC2086
env $empty "$cufence" run -o known.db -- true >out 2>err
same "run knows all variables of the manual page" "" "$(grep 'unknown variable' err)"
bad="MODE=half GRAPHS=both DELAY=abc DURATION=-1 MAX_SIZE=5x FLUSH_MS=soon SIM_DEVICES=two"
for variable in $bad; do
	env "CUFENCE_$variable" "$cufence" run -- touch refused >out 2>err
	same "CUFENCE_$variable is refused" 125 $?
	has "CUFENCE_$variable: it is named" "CUFENCE_${variable%=*} is .*, not '${variable#*=}'" "$(cat err)"
done
[ ! -e refused ]
ok "nothing was run" $?
CUFENCE_DELAY=abc run 0 "an option replaces it" --delay 0 -- true

app=$build/testapps/free_in_loop
[ -x "$app" ] && [ -e "$build/sim/libcuda.so.1" ] || finish
"$app" >/dev/null 2>&1
run 0 "on the simulated device" --sim -o sim.db -- "$app"
has "report goes to stderr" '^blocking-free: ' "$(cat err)"
same "the findings" "blocking-free certain free_scratch:22 -> launch_accumulate:33" \
	"$("$cufence" query sim.db expect)"
same "every operation has its call" "" "$("$cufence" query sim.db unmatched)"
LD_LIBRARY_PATH=$build/sim "$app" >untraced
same "the output of an untraced run" "$(cat untraced)" "$(cat out)"
"$cufence" check sim.db >/dev/null
same "check fails" 1 "$?"

# A run that traced nothing does not pass for the one before, nor does it cost that one's database.
for time in first second; do
	run 0 "nothing traced, $time" --sim -o sim.db -- true
	has "nothing traced, $time: says where the one before is" "last database with calls is kept as .*sim.db.old" "$(cat err)"
	"$cufence" check sim.db >out 2>&1
	same "nothing traced, $time: check fails" 2 "$?"
	same "nothing traced, $time: the one before is kept" "blocking-free certain free_scratch:22 -> launch_accumulate:33" \
		"$("$cufence" query sim.db.old expect)"
done
CUFENCE_DISABLE=1 run 0 "a recorder that is told to do nothing" --sim -o none.db -- "$app"
has "says so" "nothing was traced: CUFENCE_DISABLE is set" "$(cat err)"
if [ ! -e /dev/nvidiactl ] && [ -x "${app}_simstatic" ]; then
	"$cufence" run -o none.db -- "${app}_simstatic" >out 2>err
	has "without a driver: says so" "nothing was traced: there is no CUDA driver" "$(cat err)"
fi

# A daemon writes its trace when the run is over: what is there is named, and loads.
run 0 "a daemon" --sim -o "two words.db" -- sh -c '(while [ ! -e go ]; do sleep 0.05; done; "$0"; : >gone) >/dev/null 2>&1 &' "$app"
has "a daemon: nothing was traced so far" "^cufence: nothing was traced so far" "$(cat err)"
has "a daemon: is still running" "^cufence: (process [0-9]+ is|[0-9]+ processes are) still running" "$(cat err)"
: >go
for _ in $(seq 1200); do [ -e gone ] && break; sleep 0.05; done
PATH=${cufence%/*}:$PATH bash -c "$(sed -n 's/.*, load \(it\|them\): //p' err)"
same "a daemon: the command loads it" "blocking-free certain free_scratch:22 -> launch_accumulate:33" \
	"$("$cufence" query "two words.db" expect)"
rm -rf "two words.db.traces-"*

# Stopped while it reads symbols, it says where the traces are; stopped twice at once, as by
# timeout(1), which signals the process and then its group, as well.
cat >stuck.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
static volatile int is_stuck;
void *elf_begin(void) { is_stuck = 1; write(1, "stuck\n", 6); for (;;) pause(); }
int unlink(const char *path)
{
	if (is_stuck)
		kill(getpid(), SIGTERM);
	return unlinkat(AT_FDCWD, path, 0);
}
END
if ldd "$cufence" | grep -q libelf && ! sanitized && ${CC:-gcc} -w -shared -fPIC stuck.c -o stuck.so; then
	mkfifo fifo
	LD_PRELOAD=$PWD/stuck.so XDG_CACHE_HOME=$PWD/cache timeout -s KILL 20 \
		"$cufence" run --sim -o "stuck here.db" -- "$app" >fifo 2>err &
	while read -r word <&3 && [ "$word" != stuck ]; do :; done 3<fifo
	kill -TERM $! # which timeout(1) passes on
	wait $! 2>/dev/null
	same "stopped: status" 143 $?
	PATH=${cufence%/*}:$PATH bash -c "$(sed -n 's/.* kept; to load them: //p' err)"
	same "stopped: the command that it names loads them" "blocking-free certain free_scratch:22 -> launch_accumulate:33" \
		"$("$cufence" query "stuck here.db" expect)"
	rm -rf "stuck here.db.traces-"*
fi

# Commands in reports are typed as they stand.
for name in "two words.db" "it's.db" $'line\nend.db' -dash.db; do
	cp "two words.db" "./copy"
	mv ./copy "./$name"
	PATH=${cufence%/*}:$PATH bash -c "$("$cufence" report --level possible -- "$name" |
		sed -n 's/.*timeline: //p' | sed 's/NUMBER/1/')" >out 2>&1
	has "a report of $name: its command works" "^blocking-free: " "$(cat out)"
done
run 0 "several findings" --sim -o "two words.db" -- "$build/testapps/launches_behind_free"
"$cufence" report --level certain --top 1 "two words.db" >out
has "a report's command keeps its options" "1 more: cufence report --top 2 --level certain 'two words.db'" "$(cat out)"
run 0 "on the simulated device again" --sim -o sim.db -- "$app"
run 0 "its twin" --sim -o fixed.db -- "$build/testapps/free_in_loop_fixed"
"$cufence" check fixed.db
same "check passes" 0 "$?"
run 0 "--mode host" --sim --mode host -o host.db -- "$app"
has "is incomplete" 'incomplete: no device operations' "$(cat err)"
run 0 "--keep-trace" --sim --keep-trace -o kept.db -- "$app"
"$cufence" load kept.db.traces-*/*.cft -o again.db
same "kept traces load again" "$("$cufence" query sim.db expect)" "$("$cufence" query again.db expect)"
[ -x "${app}_simstatic" ] && run 0 "simulated cudart as an archive" --sim -o static.db -- "${app}_simstatic" &&
	same "has the same findings" "$("$cufence" query sim.db expect)" "$("$cufence" query static.db expect)"
for separate in "$build"/tests/helpers/separate{,_simstatic}; do
	[ -x "$separate" ] || continue
	run 0 "device code in several files" --sim -o separate.db -- "$separate"
	same "runs" 0 "$(cat out)"
	same "and its kernel is known" "fill" "$("$cufence" query separate.db "SELECT k.name FROM operation o
		JOIN kernel k ON k.id = o.kernel JOIN kernel_access a ON a.kernel = k.id GROUP BY k.id")"
done
if [ -x "${app}_static" ]; then
	run 125 "NVIDIA's static cudart is refused" --sim -- "${app}_static"
	has "in one line" "NVIDIA's cudart linked in" "$(cat err)"
	strip -o stripped "${app}_static" && run 125 "stripped too" --sim -- ./stripped
fi
finish
