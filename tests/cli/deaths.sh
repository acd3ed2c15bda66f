#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process that dies loses no operation that ended 200 ms before; none at all if it ends by _exit(),
# _Exit(), abort() or quick_exit(), and it is not held up for longer than that.
. "$(dirname "$0")/lib.sh" "$@"
helper=$build/tests/helpers/deaths
cufence=$build/bin/cufence
needs "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
export LD_LIBRARY_PATH=$build/sim
# Off by default (cupti/selection.h).
export CUFENCE_FLUSH_MS=100
preload=$build/lib/libcufence.so
if sanitized; then
	preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
	bare_preload=${preload%% *}
fi

trace() { # FOLDER HOW: runs it traced into $tmp/FOLDER
	mkdir -p "$tmp/$1"
	CUFENCE_OUT=$tmp/$1 LD_PRELOAD=$preload timeout 20 "$helper" "$2" 2>/dev/null
}

operations() { # FOLDER
	"$cufence" dump "$tmp/$1"/*.cft | grep -c '^device kind=3 '
}

declare -A closed=([_exit]=1 [_Exit]=1 [quick_exit]=1 [abort]=0 [handler]=0 [KILL]=0 [inside]=0)
for how in _exit _Exit quick_exit abort handler KILL inside; do
	want=$(LD_PRELOAD=${bare_preload:-} "$helper" "$how" 2>/dev/null; echo "status $?")
	same "$how: output and status" "$want" "$(trace "$how" "$how"; echo "status $?")"
	same "$how: operations" 10 "$(operations "$how")"
	# The end of a process that leaves no call open is in order.
	has "$how: closed or not" "closed=${closed[$how]}" "$("$cufence" dump "$tmp/$how"/*.cft | head -n 1)"
done 2>/dev/null

# Without the thread's flushes nothing is delivered before the end.
CUFENCE_FLUSH_MS=0 trace never KILL
same "KILL, never flushed: operations" 0 "$(operations never)"
"$cufence" load "$tmp"/never/*.cft -o "$tmp/never.db" && "$cufence" report "$tmp/never.db" >"$tmp/report"
has "never flushed: the report says that all are unknown" 'all 10 device operations are unknown' "$(cat "$tmp/report")"

same "the recorder's thread takes no signals, and handles none" "$(printf '%s: blocked 1, default 1\n' 2 15 10)" \
	"$(trace thread thread | tail -n +2)"

# CUPTI never returns from a flush.
export CUFENCE_CUPTI=$build/tests/helpers/libcupti_bad.so CUPTI_BAD=hang
for how in _exit abort handler; do
	start=$(date +%s%N)
	trace "hang_$how" "$how" >/dev/null
	took=$((($(date +%s%N) - start) / 1000000))
	[ "$took" -ge 190 ] && [ "$took" -lt 2000 ]
	ok "CUPTI hangs, $how: it waits for 200 ms ($took ms in all)" $?
done 2>/dev/null
times=$(trace children children | tail -n +2 | paste -sd' ')
[ "$(awk '{ print ($2 < 150), ($4 < 150) }' <<<"$times")" = "1 1" ]
ok "CUPTI hangs: children do not ask: $times ms" $?
finish
