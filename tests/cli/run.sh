#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence run": the program's own output and exit status, and what is said around them.
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

run 0 "a program without CUDA" -- sh -c 'echo hello; echo oops >&2'
same "its output is its own" hello "$(cat out)"
has "its stderr too" '^oops$' "$(cat err)"
has "nothing was traced" 'nothing was traced: it never called CUDA' "$(cat err)"
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
has "is named" "CUFENCE_MODUS" "$(cat err)"
LD_PRELOAD=$build/lib/libcufence.so run 0 "preloads are prepended" -- sh -c 'echo $LD_PRELOAD'
same "before the user's" "$(realpath "$build/lib/libcufence.so"):$build/lib/libcufence.so" "$(cat out)"

# A terminal's Ctrl-C goes to both; the program decides, and its trace is still loaded.
(trap - INT; exec "$cufence" run -- sh -c 'trap "exit 3" TERM; echo up >up; while :; do sleep 0.05; done') >out 2>err &
pid=$!
for _ in $(seq 1200); do [ -e up ] && break; sleep 0.05; done
kill -TERM $pid
wait $pid
same "SIGTERM is passed on" 3 "$?"

run 3 "a trace that was not finished" -o unfinished.db -- sh -c 'touch "$CUFENCE_OUT/cufence.1.cft.new"; exit 3'
same "leaves nothing behind" "" "$(ls | grep '^unfinished.db.traces')"

empty=$(grep -o 'CUFENCE_[A-Z_]*' "$manual" | sort -u | sed 's/$/=/')
# shellcheck disable=SC2086
env $empty "$cufence" run -o known.db -- true >out 2>err
same "run knows all variables of the manual page" "" "$(grep 'means nothing' err)"

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
