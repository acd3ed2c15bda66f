#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that hang: the call that each thread is in, and the chain behind it, ending at its reason.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
hangs=$build/tests/helpers/hangs
preload=$build/lib/libcufence.so
needs "$cufence" "$hangs" "$preload"
sanitized && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
cd "$tmp" || exit 1
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT

hang() { # HOW [NAME=VALUE...]: starts the program, and waits until its threads make no more progress
	rm -rf traces
	mkdir traces
	: >err
	env "${@:2}" CUFENCE_OUT="$tmp/traces" LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$preload" \
		"$hangs" "$1" 2>err &
	pid=$!
	until grep -q hanging err; do sleep 0.02; done
	sleep 0.3
}
stop() { # the program, which must still hang
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	same "$1: it was hanging until it was killed" 137 $?
	pid=
}
# Numbers of threads and streams, and times, are not what is compared.
plain() { sed -E 's/(thread|process) [0-9]+/\1 N/; s/stream [0-9]+/stream N/g; s/ since [0-9.]+ [mu]?s/ since T/g
	s/has called (.*) [0-9]+ times/has called \1 N times/; s/(hangs\.c|asan_interceptors\.cpp):[0-9]+/hangs.c/g'; }
explains() { # HOW, and what it says of the call and of its reason
	local said
	hang "$1"
	said=$(timeout 60 "$cufence" why-stuck --folder traces --all 2>&1)
	ok "$1: status" $?
	same "$1" "process N
$2" "$(printf '%s\n' "$said" | plain)"
	stop "$1"
}

kernel="        kernel 'spin' on stream N (hangs.c), submitted since T,
        which has not ended"
behind="    stream N: 2 calls have not ended, of which the first is"
explains kernel "  thread N 'hangs' has been in cuStreamSynchronize (hangs.c) since T
$behind
$kernel"
explains queue "  thread N 'hangs' has been in cuLaunchKernel (hangs.c) since T
${behind/2 calls/1022 calls}
$kernel"
explains poll "  thread N 'hangs' has called cuStreamQuery (hangs.c) N times since T, which is not ready
    stream N: 1 call has not ended
$kernel"
explains event "  thread N 'hangs' has been in cuStreamSynchronize (hangs.c) since T
$behind
        a wait for an event on stream N (hangs.c), submitted since T,
        which waits for an event record on stream N (hangs.c)
${behind/2 calls/3 calls}
        a wait for a value in memory on stream N (hangs.c), submitted since T,
        whose value is not known to have been written"
explains lock "  thread N 'hangs' has been in cuStreamSynchronize (hangs.c) since T
$behind
        a host function on stream N (hangs.c), submitted since T,
        which thread N has been running since T, and sleeps"
explains graph "  thread N 'hangs' has been in cuStreamSynchronize (hangs.c) since T
    stream N: 1 call has not ended
        a graph on stream N (hangs.c), submitted since T,
        which has not ended
  thread N has been running a host function of a graph since T, and sleeps"
explains threads "  thread N 'hangs' has been in cuEventSynchronize (hangs.c) since T
    for an event record on stream N (hangs.c)
$behind
$kernel
  thread N 'hangs' is in no CUDA call: pthread_create (hangs.c) has been over since T"

# Only the calls: what ended is known from the host's waits.
hang kernel CUFENCE_MODE=host
said=$("$cufence" why-stuck "$pid" | plain)
has "calls only: the wait" "has been in cuStreamSynchronize" "$said"
has "calls only: all that it waits for" "stream N: 3 calls have not ended" "$said"
has "calls only: it says so" "what ended after the host last waited for it is not known" "$said"
stop "calls only"

# After its death, from what it left.
hang queue
stop queue
"$cufence" load traces/*.cft -o after.db >/dev/null 2>&1
has "of a database: the launch in progress" "has been in cuLaunchKernel" "$("$cufence" why-stuck after.db)"
has "of a database: its reason" "which has not ended" "$("$cufence" why-stuck after.db)"
has "a report has it, too" "hung     cuLaunchKernel had not returned" "$("$cufence" report after.db)"
"$cufence" dump traces/*.cft >dump.txt
has "text: a launch in progress names its stream" '^enter .* operand=0x[1-9a-f]' "$(grep '^enter' dump.txt)"
"$cufence" undump dump.txt -o again.cft && "$cufence" dump again.cft >again.txt
same "text: it comes back" "$(grep '^enter' dump.txt)" "$(grep '^enter' again.txt)"

# A program that ends is not stuck, and one that is not there cannot be asked.
CUFENCE_OUT=$tmp/traces LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$preload "$hangs" ends 2>/dev/null
same "a program that ends" 0 $?
"$cufence" load "$(ls -t traces/*.cft | head -n 1)" -o ends.db >/dev/null 2>&1
same "... is in no call" 0 "$("$cufence" why-stuck ends.db | grep -c 'has been in')"
same "... and nothing is left" 0 "$("$cufence" why-stuck ends.db | grep -c 'not ended')"
"$cufence" why-stuck 1 2>said
same "a process that is not traced" 2 $?
has "... is named" "process 1 is not being traced" "$(cat said)"
finish
