#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The guard of host memory (--guard-host) protects pinned memory while copies are pending.  Programs
# do not notice it.  Accesses before a wait are found, at their line, and no others.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
program=$build/tests/helpers/guarded
needs "$cufence" "$build/lib/libcufence-guard.so" "$build/sim/libcuda.so.1" "$program"
cd "$tmp" || exit 1

guarded() { # MODE: what the program does and returns, guarded
	timeout 60 "$cufence" run --sim --guard-host -o "$1.db" -- "$program" "$1" 2>"$1.report"
	echo "status $?"
}
bare() { # MODE
	{ LD_LIBRARY_PATH=$build/sim timeout 60 "$program" "$1"; } 2>/dev/null
	echo "status $?"
}
found() { # DB: the rules and functions, once each
	"$cufence" query "$1" expect | sed 's/:[0-9]* / /; s/:[0-9]*$//' | sort -u
}
read_early='early-host-read certain touch -> download'
for mode in rows system_calls handler threads in_handler forks registered small through frees beside killed; do
	same "$mode: output and status" "$(bare $mode 2>&1)" "$(guarded $mode)"
done
same "an access after the wait is none" "" "$(found rows.db)"
same "nor is one after a wait for a stream behind it" "" "$(found through.db)"
same "... which was caught" 1 "$("$cufence" query through.db \
	"SELECT value FROM property WHERE name = 'guard.touches'")"
same "memory beside the copy's" "" "$(found beside.db)"
same "pages that are shared" "" "$(found registered.db)"
same "a forked child's memory is its own" "" "$(found forks.db)"
same "memory that was freed" "" "$(found frees.db)"
same "the program has a handler of its own" "$read_early" "$(found handler.db)"
same "threads that block all signals" "$read_early" "$(found threads.db)"
same "handlers that block all signals" 'early-host-read certain on_user_signal -> download' \
	"$(found in_handler.db)"
# The calls of the kernel's, one each: write, read, send, recv, writev, readv, sendmmsg, recvmmsg, pread,
# fwrite, fread.
lines=$("$cufence" query system_calls.db "SELECT count(DISTINCT p.site) FROM finding_place p")
same "calls of the kernel's" 11 "$lines"
same "... are as many accesses" 11 "$("$cufence" query system_calls.db \
	"SELECT value FROM property WHERE name = 'guard.touches'")"
# The output names memory that could not be guarded.
has "what could not be guarded is said" \
	'guard left out host memory of 1 copy: 1 in pages that it shares' "$(cat small.report)"

# System calls on bytes that share a page with a pending copy, and what CUDA says of pinned memory.
program=$build/tests/helpers/guard_neighbours
needs "$program"
for mode in another same registered ranges managed_ranges; do
	same "neighbours, $mode: output and status" "$(bare $mode 2>&1)" "$(guarded $mode)"
done
for mode in another same registered; do
	same "... $mode: which were guarded" 19 "$("$cufence" query $mode.db \
		"SELECT value FROM property WHERE name = 'guard.copies'")"
done

# Programs that handle SIGSEGV on a small stack, or block it.
program=$build/tests/helpers/guard_signals
needs "$program"
for mode in small_stack masks raw_mask suspended handler_touches stays_blocked; do
	same "signals, $mode: output and status" "$(bare $mode 2>&1)" "$(guarded $mode)"
	same "... $mode: found" "$read_early" "$(found $mode.db)"
done
blocked() { env --block-signal=SEGV bash -c '"$@"' - "$@"; }
same "signals, blocked from the start: output and status" \
	"$(LD_LIBRARY_PATH=$build/sim blocked "$program" inherited)" \
	"$(blocked "$cufence" run --sim --guard-host -o inherited.db -- "$program" inherited 2>/dev/null)"
same "... found" "$read_early" "$(found inherited.db)"
# Bytes of an alternate stack that the handler takes beside the kernel's frame (doc/GUARD.md);
# instrumented code takes more.
used=$(guarded measure | awk '$1 == "frame:" { frame = $2 } $1 == "all:" { print $2 - frame }')
sanitized || [ "${used:-9999}" -le 512 ]
ok "the handler takes $used bytes of a small stack" $?

# A thread reads after a host function has signalled it; shared pages are protected.
for app in host_signal registered_twice_fixed; do
	needs "$build/testapps/$app"
	bare=$(LD_LIBRARY_PATH=$build/sim timeout 60 "$build/testapps/$app")
	same "$app: output" "$bare" "$(timeout 60 "$cufence" run --sim --guard-host -o $app.db -- \
		"$build/testapps/$app" 2>/dev/null)"
	same "$app: no finding" "" "$("$cufence" query $app.db expect)"
done

# Without the option nothing is protected.
program=$build/tests/helpers/guarded
"$cufence" run --sim -o off.db -- "$program" handler >/dev/null 2>off.report
same "off by default" "" "$(found off.db)"
# The variable alone does not load the library.
mkdir traces
CUFENCE_GUARD_HOST=1 CUFENCE_OUT=traces LD_PRELOAD=$build/lib/libcufence.so \
	LD_LIBRARY_PATH=$build/sim "$program" handler >/dev/null
"$cufence" load traces/*.cft -o alone.db 2>/dev/null
has "without its library it says so" 'host memory was not guarded: its library is not loaded' \
	"$("$cufence" report alone.db)"
finish
