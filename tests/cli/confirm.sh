#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cufence confirm on the simulated device: races are confirmed, ordered pairs never are.  The answer is
# kept and printed, and the program's calls are found again wherever it is loaded.  tests/gpu/confirm
# has all apps; here is one for each method.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
apps=$build/testapps
needs "$cufence" "$build/lib/libcufence-hold.so" "$build/sim/libcuda.so.1" "$apps/missing_fence_raw"
cd "$tmp" || exit 1

record() { # NAME [OPTION...]
	local name=$1
	shift
	"$cufence" run --sim --quiet "$@" -o "$name.db" -- "$apps/$name" >/dev/null
}
# Beside other work a try may find the two apart: how many of ten show the conflict is not checked.
confirm() { # NAME OPERAND...: what it says, and its status
	local name=$1
	shift
	timeout -k 5 60 "$cufence" confirm "$@" -- "$apps/$name" 2>&1 | sed 's/\b[0-9]* of 10 t/N of 10 t/'
	echo "status ${PIPESTATUS[0]}"
}

# A kernel that overtakes another, in each instance; twice, so that addresses differ.
record missing_fence_raw
said=$(confirm missing_fence_raw missing_fence_raw.db 1)
same "the consumer overtakes" "confirmed: kernel 'accumulate' on stream 14 ran before kernel 'fill' on stream 13 \
when that was held back, N of 10 tries
status 0" "$said"
same "... again" "$said" "$(confirm missing_fence_raw missing_fence_raw.db 1)"
has "the report has it" "^    test confirmed: kernel 'accumulate'.* [0-9]* of 10 tries$" \
	"$("$cufence" report missing_fence_raw.db)"
has "so has check" '; confirmed: kernel .* \[high\]$' "$("$cufence" check missing_fence_raw.db 2>&1)"
has "JSON" '"confirmation":{"result":"confirmed","how":"kernel' \
	"$("$cufence" report --format json missing_fence_raw.db)"
has "HTML" "test confirmed: kernel 'accumulate' on stream" \
	"$("$cufence" report --format html missing_fence_raw.db)"
"$cufence" analyze missing_fence_raw.db
has "analyze keeps it" '^    test confirmed: ' "$("$cufence" report missing_fence_raw.db)"

# Each place of a finding is held, and answered for itself.
record missing_stream_argument
said=$(confirm missing_stream_argument missing_stream_argument.db 1)
has "the first place of two" "^place 1 of 2, missing_stream_argument.cu:25 after missing_stream_argument.cu:15: \
confirmed: kernel 'scale' .* ran before kernel 'stencil'" "$said"
has "the second" "^place 2 of 2, missing_stream_argument.cu:32 after missing_stream_argument.cu:25: \
confirmed: kernel 'accumulate' .* ran before kernel 'scale'" "$said"
has "the verdict is that of all" '^confirmed: 2 of 2 places$' "$said"
same "the report has both, below their places" 'for test for test in' "$("$cufence" report \
	missing_stream_argument.db | sed -n 's/^    \(for\|test\|in\) .*/\1/p' | paste -sd ' ')"
sqlite3 missing_stream_argument.db "UPDATE confirmation SET result = 'not-confirmed'
	WHERE fingerprint = (SELECT fingerprint FROM finding_place WHERE id = 1)"
has "check says the one that is confirmed" '; confirmed: kernel .accumulate. ' \
	"$("$cufence" check missing_stream_argument.db 2>&1)"
same "of a finding without any that can be, the status is that of trouble" 'not applicable: 2 of 2 places status 2' \
	"$(confirm missing_stream_argument_fixed missing_stream_argument.db 1 | tail -n 2 | paste -sd ' ')"

# Another build has its calls at other places.
has "another program is not taken for it" '^not applicable: this run did not make the call of kernel' \
	"$(confirm missing_fence_raw_fixed missing_fence_raw.db 1)"
has "a later answer replaces it" '^    test not ' "$("$cufence" report missing_fence_raw.db)"

# Pairs of the twin itself are ordered.
record missing_fence_raw_fixed
read -r one other <<<"$("$cufence" query missing_fence_raw_fixed.db "SELECT e.id, l.id FROM operation e
	JOIN operation l ON l.id > e.id JOIN kernel k ON k.id = e.kernel AND k.name = 'fill'
	JOIN kernel m ON m.id = l.kernel AND m.name = 'accumulate' ORDER BY l.start - e.end LIMIT 1" | tr '|\t' '  ')"
said=$(confirm missing_fence_raw_fixed --pair missing_fence_raw_fixed.db "$one" "$other")
has "an ordered pair keeps its order" "^not confirmed: kernel 'accumulate' .* did not run while kernel 'fill' .* \
nor with CUDA_DEVICE_MAX_CONNECTIONS=32; the output stayed the same$" "$said"
has "... which is status 1" '^status 1$' "$said"

# Operations that run first are no conflict unless both access the same bytes.  Here the index comes
# from memory, so that the code only bounds the bytes, and the program keeps them apart.
record listed_elements
said=$(confirm listed_elements listed_elements.db 1)
has "an order that is missing is no conflict" "^place 2 of 2, listed_elements.cu:49 after listed_elements.cu:43: \
order missing, conflict not shown: kernel 'scale_listed' .* of 6 tries; no byte is known that both access$" "$said"
same "... nor is the finding" 'order missing, conflict not shown: 2 of 2 places status 1' \
	"$(tail -n 2 <<<"$said" | paste -sd ' ')"
"$cufence" report --all listed_elements.db >all
same "... and reports say so" 2 "$(grep -c "^    test order missing, conflict not shown: kernel 'scale_listed'" all)"
has "... JSON, too" '"confirmation":{"result":"order-missing","how":"kernel' \
	"$("$cufence" report --all --format json listed_elements.db)"
record free_in_loop_fixed
has "a fixed twin is not confirmed" '^order missing, conflict not shown: ' \
	"$(confirm free_in_loop_fixed free_in_loop_fixed.db 1)"
# An output that depends on the hold proves nothing about two operations on other bytes.
said=$(timeout -k 5 60 "$cufence" confirm --pair missing_fence_raw_fixed.db "$one" "$other" -- \
	sh -c '"$0"; echo "$CUFENCE_HOLD"' "$apps/missing_fence_raw_fixed" 2>&1)
has "an output alone proves no conflict" '^not confirmed: .* the output differs from that of two runs .* but no byte is known' \
	"$said"

# Each other way to show one.
record early_host_read --guard-host
has "a read by the program" "^confirmed: the program's own access .* N of 10 tries" \
	"$(confirm early_host_read early_host_read.db 1)"
record graph_dependency
has "two nodes of a graph" '^confirmed: .* began before .* had ended, N of 10 times \(the two are nodes' \
	"$(confirm graph_dependency graph_dependency.db 1)"
record graph_twins
has "launches of graphs" '^confirmed: a graph .* ran before a graph' "$(confirm graph_twins graph_twins.db 1)"
record async_free_early
has "a free in stream order" '^confirmed: a free ' "$(confirm async_free_early async_free_early.db 1)"
record reuse_after_query
read -r one other <<<"$("$cufence" query reuse_after_query.db "SELECT min(id), max(id) FROM operation
	WHERE kind = 'kernel' GROUP BY stream ORDER BY stream LIMIT 1" | tr '|\t' '  ')"
has "one stream cannot be held against itself" '^not applicable: the two are in one stream' \
	"$(confirm reuse_after_query --pair reuse_after_query.db "$one" "$other")"

# A program that asks in a loop goes on when the time is up.
read -r one other <<<"$("$cufence" query reuse_after_query.db "SELECT e.id, l.id FROM operation e
	JOIN operation l ON l.stream <> e.stream AND l.start > e.end AND l.kind = 'kernel'
	WHERE e.kind = 'kernel' LIMIT 1" | tr '|\t' '  ')"
has "a loop of queries ends" '^status [01]$' "$(confirm reuse_after_query --pair reuse_after_query.db "$one" "$other")"

# If streams cannot wait for values, a host function holds them.
export CUFENCE_SIM_NO_WAIT_VALUE=1
same "without waits for values" "confirmed: kernel 'accumulate' on stream 14 ran before kernel 'fill' on stream 13 \
when that was held back, N of 10 tries
status 0" "$(confirm missing_fence_raw missing_fence_raw.db 1)"
has "... a read by the program" "^confirmed: the program's own access .* N of 10 tries" \
	"$(confirm early_host_read early_host_read.db 1)"
has "... work of the legacy stream" '^confirmed: 2 of 2 places' \
	"$(confirm missing_stream_argument missing_stream_argument.db 1)"
has "... a free in stream order" '^confirmed: a free ' "$(confirm async_free_early async_free_early.db 1)"
read -r one other <<<"$("$cufence" query missing_fence_raw_fixed.db "SELECT e.id, l.id FROM operation e
	JOIN operation l ON l.id > e.id JOIN kernel k ON k.id = e.kernel AND k.name = 'fill'
	JOIN kernel m ON m.id = l.kernel AND m.name = 'accumulate' ORDER BY l.start - e.end LIMIT 1" | tr '|\t' '  ')"
has "... an ordered pair keeps its order" '^not confirmed: .* the output stayed the same$' \
	"$(confirm missing_fence_raw_fixed --pair missing_fence_raw_fixed.db "$one" "$other")"
unset CUFENCE_SIM_NO_WAIT_VALUE

# Usage.
has "no finding of that number" 'not the number of a race' "$(confirm missing_fence_raw missing_fence_raw.db 99)"
has "no command" 'the command to run is missing' "$("$cufence" confirm missing_fence_raw.db 1 2>&1)"
has "no number" 'give the number of a finding' "$("$cufence" confirm missing_fence_raw.db x -- true 2>&1)"
has "no such program" "cannot run './none'" "$("$cufence" confirm missing_fence_raw.db 1 -- ./none 2>&1)"
has "a program that makes no such call" '^not applicable: this run did not make the call' \
	"$(confirm one_stream missing_fence_raw.db 1)"
same "nothing is left behind" "" "$(ls | grep traces)"
# The library asks the recorder for all; without a plan it does nothing.
has "a plan that is none is said" 'plan cannot be read' "$(
	mkdir t
	CUFENCE_HOLD=/dev/null CUFENCE_OUT=t LD_LIBRARY_PATH=$build/sim \
		LD_PRELOAD="$build/lib/libcufence.so $build/lib/libcufence-hold.so" "$apps/one_stream" >/dev/null
	"$cufence" dump t/*.cft | grep '^property.*hold')"
finish
