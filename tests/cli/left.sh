#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls that never return, because a signal's handler jumps out of them or their thread is cancelled:
# later calls are recorded, and the trace can be read.
. "$(dirname "$0")/lib.sh" "$@"
helpers=$build/tests/helpers
needs "$build/lib/libcufence.so" "$helpers/libnullcuda.so" "$helpers/left"
sanitized && finish # whose runtime may be left in the middle, too
mkdir "$tmp/null"
ln -s "$helpers/libnullcuda.so" "$tmp/null/libcuda.so.1"
export LD_LIBRARY_PATH=$tmp/null CUFENCE_CUPTI=off

for mode in calls anywhere cancel cancel_later; do
	mkdir "$tmp/$mode"
	same "$mode: output" "$(timeout 20 "$helpers/left" $mode)" \
		"$(CUFENCE_OUT=$tmp/$mode LD_PRELOAD=$build/lib/libcufence.so timeout 60 "$helpers/left" $mode)"
	"$build/bin/cufence" dump "$tmp/$mode"/*.cft >"$tmp/dump"
	ok "$mode: the trace reads" $?
	same "$mode: all that follows, by both threads" 2000 "$(grep -c '^call cuMemsetD8Async .*result=0' "$tmp/dump")"
	same "$mode: none of it within a call" 0 \
		"$(grep "^call cuMemsetD8Async " "$tmp/dump" | grep -c " record_flags=")"
	has "$mode: making and joining that thread" 'pthread_create.*pthread_join' \
		"$(grep -o '^call pthread_[a-z]* ' "$tmp/dump" | tail -n 2 | paste -sd' ')"
done
finish
