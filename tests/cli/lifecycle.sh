#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# However a program ends, it behaves as without the recorder and its trace can be read.
. "$(dirname "$0")/lib.sh" "$@"
helper=$build/tests/helpers/lifecycle
cufence=$build/bin/cufence
needs "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
export LD_LIBRARY_PATH=$build/sim
preload=$build/lib/libcufence.so
if nm -D "$preload" | grep -q __asan_init; then
	preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
	bare_preload=${preload%% *}
fi

trace() { # MODE: runs it traced into $tmp/MODE, output in $out, status in $status
	mkdir -p "$tmp/$1"
	out=$(CUFENCE_OUT=$tmp/$1 LD_PRELOAD=$preload timeout 20 "$helper" "$1" 2>"$tmp/$1.err")
	status=$?
}

calls() { # FILE: how many frees it holds
	"$cufence" dump "$1" | grep -c '^call cuMemFree_v2 '
}

for mode in exit _exit kill fork forklate forkuse; do
	bare=$(LD_PRELOAD=${bare_preload:-} timeout 20 "$helper" "$mode" 2>/dev/null)
	bare_status=$?
	trace "$mode"
	same "$mode: output" "$bare" "$out"
	same "$mode: status" "$bare_status" "$status"
	for file in "$tmp/$mode"/*.cft; do
		"$cufence" dump "$file" >/dev/null 2>&1
		ok "$mode: $(basename "$file" | tr -d 0-9) reads" $?
	done
done
same "exit: every call is there" 101 "$(calls "$tmp"/exit/*.cft)"
same "kill: nothing committed is lost" 101 "$(calls "$tmp"/kill/*.cft)"
has "kill: the trace was not closed" 'closed=0' "$("$cufence" dump "$tmp"/kill/*.cft | head -n 1)"
has "exit: the trace was closed" 'closed=1' "$("$cufence" dump "$tmp"/exit/*.cft | head -n 1)"
same "fork: a file for each process" 2 "$(ls "$tmp/fork" | wc -l)"
same "fork: each has its own calls" "101 101" "$(for f in "$tmp"/fork/*.cft; do calls "$f"; done | paste -sd' ')"
same "forklate: the child that used no CUDA has no file" 1 "$(ls "$tmp/forklate" | wc -l)"
same "forklate: the parent goes on in its own file" 112 "$(calls "$tmp"/forklate/*.cft)"

has "forkuse: nothing works in the child" '^3, bad free 3' "$(LD_PRELOAD=${bare_preload:-} "$helper" forkuse)"
same "forkuse: the child's failed calls, and the parent's" "11 112" \
	"$(for f in "$tmp"/forkuse/*.cft; do calls "$f"; done | sort -n | paste -sd' ')"

# No folder to write to: the program runs all the same.
out=$(CUFENCE_OUT=$tmp/missing LD_PRELOAD=$preload timeout 20 "$helper" exit 2>"$tmp/err")
same "no folder: status" 0 $?
same "no folder: output" "$(LD_PRELOAD=${bare_preload:-} "$helper" exit)" "$out"
has "no folder: said once" "cannot write" "$(cat "$tmp/err")"
out=$(CUFENCE_DISABLE=1 CUFENCE_OUT=$tmp/off LD_PRELOAD=$preload timeout 20 "$helper" exit 2>&1)
same "disabled: output" "$(LD_PRELOAD=${bare_preload:-} "$helper" exit)" "$out"
finish
