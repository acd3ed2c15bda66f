#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wrappers of calls.def on a libcuda that does nothing: every one records, none fails with NULL,
# and structures and arrays of the program's are unchanged.
. "$(dirname "$0")/lib.sh" "$@"
lib=$build/lib/libcufence.so
helpers=$build/tests/helpers
needs "$lib" "$helpers/every/libcuda.so.1"
asan=
nm -D "$lib" | grep -q __asan_init && asan="$(${CC:-gcc} -print-file-name=libasan.so) "

# traced RESULT PROGRAM: its output; the trace as text in $tmp/dump
traced() {
	rm -rf "$tmp/out" && mkdir "$tmp/out"
	LD_LIBRARY_PATH=$helpers/every LD_PRELOAD="$asan$lib" CUFENCE_OUT=$tmp/out CUFENCE_CUPTI=off \
		NULL_RESULT=$1 timeout 20 "$2"
	"$build/bin/cufence" dump "$tmp"/out/*.cft >"$tmp/dump"
}

for result in 0 1; do
	calls=$(traced $result "$helpers/nulls")
	ok "all calls with zeros, result $result: the program goes on" $?
	[ "${calls:-0}" -gt 350 ]
	ok "all calls with zeros, result $result: $calls of them" $?
	traced $result "$helpers/nulls" >/dev/null
	# Queries that are quick are counted; with a result that is an error they are not.
	quick=$(sed -n '1s/.* quick_queries=\([0-9]*\).*/\1/p' "$tmp/dump")
	same "all calls with zeros, result $result: a record each" "$calls" \
		$(($(grep -c "^call cu[A-Za-z0-9_]* .*result=$result " "$tmp/dump") + quick))
	[ "$quick" -le $((result ? 0 : 7)) ]
	ok "all calls with zeros, result $result: $quick of them are quick queries" $?
done

# 104 000 queries of eight streams in turn, at 13 distances: counted, wherever the handles lie.
same "polls: as without the recorder" 0 "$(traced 0 "$helpers/polls")"
apart=$(grep -c "^call cuStreamQuery .* stream=0x6000000000[01]0 words=0x1," "$tmp/dump")
records=$(($(grep -c "^call cuStreamQuery " "$tmp/dump") - apart))
[ "$records" -ge 8 ] && [ "$records" -le $((13 * 8)) ]
ok "polls: $records records" $?
# Most are counted without a look at the clock: none is lost, and the last one seen is of the loop.
counted=$(sed -n 's/^call cuStreamQuery .* enter=\([0-9]*\) .* words=\(0x[0-9a-f]*\),\(0x[0-9a-f]*\)$/\1 \2 \3/p' \
	"$tmp/dump" | while read -r enter count last; do
		[ $((last)) -ge "$enter" ] && echo $((count))
	done | awk '{ s += $1 } END { print s }')
same "polls: counted" 104400 "$counted"
same "polls: those behind another call are others" 400 "$apart"

# The parameters that launches pass, as in column words.
if [ -e "$build/bench/stub/libcuda.so.1" ]; then
	rm -rf "$tmp/out" && mkdir "$tmp/out"
	LD_LIBRARY_PATH=$build/bench/stub LD_PRELOAD="$asan$lib" CUFENCE_OUT=$tmp/out CUFENCE_CUPTI=off \
		timeout 20 "$helpers/launches" >"$tmp/passed"
	"$build/bin/cufence" load "$tmp"/out/*.cft -o "$tmp/launches.db"
	"$build/bin/cufence" query "$tmp/launches.db" \
		"SELECT hex(words) FROM launch JOIN shape s ON s.id = shape ORDER BY call" >"$tmp/told"
	[ "$(wc -l <"$tmp/passed")" -eq 4000 ] && cmp "$tmp/passed" "$tmp/told"
	ok "launches: $(wc -l <"$tmp/told") with what they pass" $?
fi

# Each of 400 paths is unwound once, however many there are and whatever they have in common; some
# are forgotten in between.
same "paths" 0 "$(traced 0 "$helpers/paths")"
# The first eight addresses distinguish 16; the addresses after them only the four that reach main()
# before an address repeats.
same "paths: distinguished" 20 "$(grep "^call cuStreamQuery " "$tmp/dump" | grep -o " site=[0-9]*" | sort -u | wc -l)"
unwound() { # PROGRAM LEAST MOST
	local times
	times=$(rm -rf "$tmp/out" && mkdir "$tmp/out"
		LD_LIBRARY_PATH=$helpers/unwinds:$helpers/every LD_PRELOAD=$lib CUFENCE_OUT=$tmp/out \
			CUFENCE_CUPTI=off NULL_RESULT=0 timeout 20 \
			env REAL_LIBGCC="$(${CC:-gcc} -print-file-name=libgcc_s.so.1)" "$helpers/$1" |
			sed -n 's/^asked //p')
	[ "${times:-0}" -ge "$2" ] && [ "$times" -le "$3" ]
	ok "$1: $times frames unwound" $?
}
if [ -z "$asan" ]; then
	unwound paths 3200 6400
	unwound deep 50 100
	unwound polls 4 40 # from main(): of fewer functions than a site has room for
fi

# Callers whose calls are alike in their first 20 addresses.
same "deep" 0 "$(traced 0 "$helpers/deep")"
same "deep: both callers" 2 "$(grep "^call cuStreamQuery " "$tmp/dump" | grep -o " site=[0-9]*" | sort -u | wc -l)"

# More paths than are distinguished: each call still has a place.
same "recursion" 0 "$(traced 0 "$helpers/recursion")"
same "recursion: no place is missing" 0 "$(grep -c "^call cuStreamQuery .* site=0 " "$tmp/dump")"
has "recursion: none was dropped" " dropped_sites=0 " "$(head -n 1 "$tmp/dump")"
has "recursion: most are distinguished by eight addresses or more" "^[0-9]{5}$" \
	"$(grep -cE "^site .*(0x[0-9a-f]+[ ,]*){8}" "$tmp/dump")"

# Stacks of the program's own, whose ends are nothing that an unwinder knows.
same "stacks" "0 0 0" "$(traced 0 "$helpers/stacks")"
same "stacks: each call has a place, one for each path" 2 \
	"$(grep "^call cuStreamQuery " "$tmp/dump" | grep -o " site=[1-9][0-9]*" | sort -u | wc -l)"

traced 0 "$helpers/structures"
ok "structures" $?
record() { # CALL [N]: its Nth record's fields and what is behind them
	grep "^call $1 " "$tmp/dump" | sed -n "${2:-1}s/.*| //p"
}
same "copy of rows: ends, pitches" \
	"dst=0x200205 src=0x10203 bytes=0x200 direction=0x1 dst_pitch=0x80 src_pitch=0x100 width=0x40 height=0x8 dst_array=0x0 src_array=0x0 dst_position=0x0 src_position=0x0" \
	"$(record cuMemcpy2D_v2)"
same "copy of slices into an array: position instead of an address" \
	"dst=0x0 src=0x301000 bytes=0x100 direction=0x3 dst_pitch=0x0 src_pitch=0x100 width=0x20 height=0x4 dst_array=0xa1 src_array=0x0 dst_position=0x5000600000007 src_position=0x0 depth=0x2 dst_height=0x0 src_height=0x10 stream=0x51" \
	"$(record cuMemcpy3DAsync_v2)"
same "memset of rows in bytes" "dst=0x200000 value=0x7 bytes=0xc0 dst_pitch=0x100 width=0x40 height=0x3" \
	"$(record cuMemsetD2D32_v2)"
same "a batch: ends, lengths, attributes and where each begins to hold" \
	"stream=0x51 count=0x2 more=0x4 words=0xd1,0xd2,0x51,0x52,0xb1,0xb2,0x1,0x0,0x900000000,0x0" \
	"$(record cuMemcpyBatchAsync_v2)"
has "a memset node: what it depends on and the edges' ports" \
	"new_node=0x91 graph=0x61 type=0x2 count=0x2 .* dst=0x200000 .* width=0x14 height=0x6 .* more=0x0 words=0xf1,0xf2,0x10201,0x0$" \
	"$(record cuGraphAddNode_v2)"
has "a conditional node: its bodies behind dependencies and absent edges" \
	"type=0xd count=0x1 .* handle=0xc1 more=0x2 words=0xf1,0x0,0xb1,0xb2$" "$(record cuGraphAddNode_v2 2)"
same "edges: from, to" "graph=0x61 count=0x2 words=0xf1,0xf2,0x71,0x72" "$(record cuGraphAddDependencies)"
same "launch attributes that order" \
	"function=0x81 stream=0x51 grid=0x1000100000002 block=0x1001020 words=0xa,0x0,0xe1" \
	"$(record cuLaunchKernelEx)"
same "no launch attributes, no words" "function=0x81 stream=0x51 grid=0x1000100000002 block=0x1001020" \
	"$(record cuLaunchKernelEx 2)"
same "a list too long for a record is cut" "count=0x2000 4096" \
	"$(record cuGraphAddDependencies 2 | awk '{ print $2, gsub(/0x/, "", $3) }')"
same "a list at the end of the mapped page" "graph=0x63 count=0x1 words=0x0,0x0" \
	"$(record cuGraphAddDependencies 3)"
# In a large program, finding the page takes as long as registering a MiB.
same "pages of a file are told apart, of the first 64 that are registered" 64 \
	"$(grep -c '^call cuMemHostRegister_v2 .* handle=0x[1-9a-f]' "$tmp/dump")"

"$build/bin/cufence" undump "$tmp/dump" -o "$tmp/again.cft" &&
	"$build/bin/cufence" dump "$tmp/again.cft" >"$tmp/again"
cmp -s "$tmp/dump" "$tmp/again"
ok "dump and undump keep lists and attributes" $?
finish
