#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cufence fix on the simulated device: what "try --keep" wrote is applied without the recorder, saves what
# was tried, and changes neither output nor exit status; each surprise turns a fix off, and is said once.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
apps=$build/testapps
fixes=$build/tests/helpers/fixes
needs "$cufence" "$build/lib/libcufence-fix.so" "$build/sim/libcuda.so.1" "$apps/free_in_loop" "$fixes" "$build/tests/helpers/moved"
here=$(cd "$(dirname "$0")" && pwd)
cd "$tmp" || exit 1
export SIM_TIME=$tmp/time
clock=$build/tests/helpers/libsim_time.so
# A sanitizer's runtime comes first.
sanitizer=
sanitized && sanitizer=$(ldd "$build/lib/libcufence-fix.so" | awk '/lib[a-z]*asan/ { print $3 }'):

keep() { # NAME RULE CMD...; RULE "": the first finding
	local name=$1 rule=$2 finding
	shift 2
	"$cufence" run --sim --quiet -o "$name.db" -- "$@" >/dev/null 2>&1
	finding=$(sqlite3 "$name.db" "SELECT coalesce(min(id), 1) FROM finding WHERE '$rule' IN ('', rule)")
	"$cufence" try --repeat 1 --keep "$name.fixes" "$name.db" "$finding" -- "$@" >"$name.tried" 2>&1
}
plain() { # CMD...: its output and status
	LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$sanitizer$clock timeout 60 "$@" 2>/dev/null
	echo "status $?"
}
fixed() { # NAME CMD...: the same; what is said is in NAME.log
	local name=$1
	shift
	rm -f "$name.log"
	LD_PRELOAD=$sanitizer$clock timeout 60 "$cufence" fix --sim --log "$name.log" "$name.fixes" -- "$@" 2>"$name.errors"
	echo "status $?"
}

# Each treatment.  A program that has its runtime within it has other frames.
for app in free_in_loop free_in_loop_simstatic free_array_in_loop free_host_in_loop repeated_sync sync_between_streams \
	stack_limit_in_loop pool_trim module_unload_in_loop pageable_async_upload lazy_query_serializes custom_streams; do
	[ -x "$apps/$app" ] || continue
	keep "$app" "" "$apps/$app"
	has "$app: kept" "^kept in '$app.fixes': #1; to run with it: cufence fix $app.fixes -- " "$(cat "$app.tried")"
	before=$(plain "$apps/$app") time=$(cat "$SIM_TIME")
	same "$app: its output and status" "$before" "$(fixed "$app" "$apps/$app")"
	saved=$((time - $(cat "$SIM_TIME"))) tried=$(sqlite3 "$app.db" "SELECT saved FROM trial")
	[ -n "$tried" ] && [ $((10 * saved)) -ge $((9 * tried)) ] && [ $((10 * saved)) -le $((11 * tried)) ]
	ok "$app: saves $saved ns, tried $tried" $?
	has "$app: is counted" '^cufence fix: process [0-9]*: applied #1 ([a-z-]* [1-9][0-9]* times?|eager)$' "$(cat "$app.log")"
	same "$app: nothing else is said" "1" "$(wc -l <"$app.log")"
	same "$app: stderr is the program's" "" "$(cat "$app.errors")"
done

# A fence: the program's own order, without a lock on luck.
keep device_copy_race "" "$apps/device_copy_race"
has "a fence is tried" '^#1 missing-fence: tried: the two were in order 10 of 10 times; it costs ' "$(cat device_copy_race.tried)"
fixed device_copy_race "$apps/device_copy_race" >/dev/null
has "a fence is applied" 'applied #1 fence 10 times$' "$(cat device_copy_race.log)"
same "its two sides are in the file" "1 1" \
	"$(grep -c '^call .* earlier$' device_copy_race.fixes) $(grep -c '^call .* later$' device_copy_race.fixes)"

# Work of the legacy stream that others use: from the middle on by calls that were never seen.
moved=$build/tests/helpers/moved
for kind in bound graph used waits result; do
	keep "$kind" legacy-stream-serialization "$moved" "$kind"
	same "$kind: its output" "$(plain "$moved" "$kind")" "$(fixed "$kind" "$moved" "$kind")"
	has "$kind: is moved" 'applied #1 move [347][0-9] times$' "$(cat "$kind.log")"
	same "$kind: by other calls" "$(FIXES_SURPRISE=1 plain "$moved" "$kind")" "$(FIXES_SURPRISE=1 fixed "$kind" "$moved" "$kind")"
done
same "what is moved, and what is apart, is in the file" "7 2" \
	"$(grep -c '^call .* moved$' bound.fixes) $(grep -c '^call .* apart$' bound.fixes)"

same "... a launch with a configuration, too" 1 "$(grep -c '^call cuLaunchKernelEx moved$' bound.fixes)"

# The library alone, without cufence.
said=$(LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$sanitizer$build/lib/libcufence-fix.so CUFENCE_FIX=free_in_loop.fixes \
	"$apps/free_in_loop" 2>&1 >/dev/null)
has "LD_PRELOAD alone" '^cufence fix: process [0-9]*: applied #1 put-off 30 times$' "$said"
said=$(LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$sanitizer$build/lib/libcufence-fix.so "$apps/free_in_loop" 2>&1 >/dev/null)
same "without a file nothing is said" "" "$said"

# Surprises: of an error, of memory that is short, of a variable, of a limit that is set elsewhere.
surprise() { # KIND PATTERN OF WHAT IS SAID
	keep "$1" "" "$fixes" "$1"
	same "$1: without a surprise" "$(plain "$fixes" "$1")" "$(fixed "$1" "$fixes" "$1")"
	same "$1: ... nothing is turned off" "" "$(grep 'turned off' "$1.log")"
	same "$1: with one" "$(FIXES_SURPRISE=1 plain "$fixes" "$1")" "$(FIXES_SURPRISE=1 fixed "$1" "$fixes" "$1")"
	has "$1: ... is said" "$2" "$(cat "$1.log")"
}
off() { # KIND PATTERN
	surprise "$1" "^cufence fix: #1 [a-z-]*: turned off: $2\$"
	same "$1: ... once" 1 "$(grep -c ': turned off: ' "$1.log")"
	has "$1: ... and counted until then" 'applied #1 [a-z-]* ([7-9]|1[0-9]) times \(turned off\)$' "$(cat "$1.log")"
}
off error 'a call failed that did not when the fix was tried: cuMemFree_v2 returned 1'
off memory 'memory was short: what was kept is freed'
off plain_module 'the program asks for a variable of a module that was to be remembered: cuModuleGetGlobal_v2'
export CUFENCE_SIM_DEVICES=2
off pinned 'the program uses a second context, or device: cuCtxSetCurrent'
unset CUFENCE_SIM_DEVICES
surprise limits 'applied #1 once 10 times$'
surprise fork 'applied #1 put-off 12 times$'
# On the simulated device, what threads save depends on when they meet: one has the same call path.
FIXES_ONE_THREAD=1 keep threads blocking-free "$fixes" threads
same "four threads" "$(plain "$fixes" threads)" "$(fixed threads "$fixes" threads)"
has "... are counted together" 'put-off 48 times$' "$(cat threads.log)"
same "a module with variables is refused" 1 \
	"$(keep module "" "$fixes" module; grep -c 'refused: the code has variables' module.tried)"

# An error that the recorded run had is none; a place in another build is said, and not applied.
has "errors of the recorded run" '^error [A-Za-z]* [0-9]*$' "$(cat free_in_loop.fixes)"
sed '/^error /d' free_in_loop.fixes >no_errors.fixes
fixed no_errors "$apps/free_in_loop" >/dev/null
has "... count otherwise" 'turned off: a call failed that did not when the fix was tried: cu[A-Za-z]* returned 4$' \
	"$(cat no_errors.log)"
sed 's/^at [0-9a-f]* \([0-9a-f]* free_in_loop\)$/at 00112233 \1/' free_in_loop.fixes >other.fixes
same "another build: its output" "$(plain "$apps/free_in_loop")" "$(fixed other "$apps/free_in_loop")"
has "... is said" 'turned off: the program or a library is not the build in which the fix was tried$' "$(cat other.log)"
has "... is not applied" 'applied #1 put-off 0 times \(turned off\)$' "$(cat other.log)"
same "another program" "$(plain "$apps/repeated_sync")" "$(fixed free_in_loop "$apps/repeated_sync")"
has "... has none of its calls" 'applied #1 put-off 0 times$' "$(cat free_in_loop.log)"

# Files that are not ones.
wrong() { # TEXT LINE PATTERN, the file on stdin
	cat >wrong.fixes
	said=$("$cufence" fix --sim wrong.fixes -- "$apps/free_in_loop" 2>&1)
	same "$1: status" "125" "$?"
	has "$1" "^cufence fix: 'wrong.fixes' line $2: $3\$" "$said"
}
head='cufence-fixes 1'
wrong "no head" 1 'the first line is not "cufence-fixes 1"' </dev/null
wrong "no fix" 1 'there is no fix in it' <<<"$head"
wrong "no treatment" 2 'this version does not know that treatment' <<<"$head"$'\n''fix 1 nothing'
wrong "no number" 2 'a fix has a number' <<<"$head"$'\n''fix one put-off'
wrong "no function" 3 'this version does not know that function' <<<"$head"$'\n''fix 1 put-off'$'\n''call cuNone'
wrong "no side" 3 'a call ends with its function, and its side if the treatment has sides' <<<"$head"$'\n''fix 1 fence'$'\n''call cuLaunchKernel'
wrong "a call without a fix" 2 'a call belongs to a fix, which comes before it' <<<"$head"$'\n''call cuMemFree_v2'
wrong "a frame without a call" 3 'a frame belongs to a call, which comes before it' <<<"$head"$'\n''fix 1 put-off'$'\n''at - 0 a'
wrong "a bad build id" 4 'a build id has up to 40 hexadecimal digits' \
	<<<"$head"$'\n''fix 1 put-off'$'\n''call cuMemFree_v2'$'\n''at xyz 0 a'
wrong "a bad offset" 4 'an offset is hexadecimal' <<<"$head"$'\n''fix 1 put-off'$'\n''call cuMemFree_v2'$'\n''at - z a'
wrong "an unknown line" 2 'this version does not know such a line' <<<"$head"$'\n''fixes'
{
	echo "$head"
	for i in $(seq 40); do echo "fix $i eager"; done
} | wrong "too many fixes" 34 'there are too many fixes'
said=$(LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$sanitizer$build/lib/libcufence-fix.so CUFENCE_FIX=$tmp/wrong.fixes \
	"$apps/free_in_loop" 2>&1)
has "the library alone runs the program as it is" '^cufence fix: the program runs as it is: .* line [0-9]*: ' "$said"
has "..." '^30 tiles: ' "$said"
said=$("$cufence" fix none.fixes -- true 2>&1)
same "no file: status" 125 "$?"
has "no file" "cannot read 'none.fixes': No such file" "$said"
said=$("$cufence" fix free_in_loop.fixes 2>&1)
same "no command: status" 125 "$?"
has "no command" 'the command to run is missing: add -- CMD' "$said"
"$cufence" fix free_in_loop.fixes -- ./none 2>/dev/null
same "no program: status" 127 "$?"
"$cufence" fix free_in_loop.fixes -- sh -c 'kill -TERM $$' 2>/dev/null
same "a signal is the program's" 143 "$?"
same "a program without CUDA" "said" "$("$cufence" fix free_in_loop.fixes -- sh -c 'echo said' 2>&1)"

# What only the recorder can distinguish is not kept.
if command -v python3 >/dev/null && ! sanitized; then
	keep python blocking-free python3 "$here/python/wait.py"
	has "lines of Python" "'python.fixes' is not written: its calls differ by lines of Python" "$(cat python.tried)"
	[ ! -e python.fixes ]
	ok "... there is no file" $?
fi
finish
