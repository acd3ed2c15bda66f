#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Traces that are cut, overwritten or not finished, as a user meets them: their intact parts are
# loaded, and none is reported as clean.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
app=$build/testapps/one_stream
flood=$build/tests/helpers/flood
needs "$cufence" "$app" "$flood"
cd "$tmp" || exit 1

"$cufence" run --sim --keep-trace -o good.db -- "$app" >/dev/null 2>&1
cp good.db.traces-*/*.cft good.cft
"$cufence" check good.db >/dev/null 2>&1
same "the trace itself is clean" 0 "$?"
calls=$("$cufence" query good.db "SELECT count(*) FROM call")
size=$(stat -c %s good.cft)

statuses() { # of loading and checking the trace bad.cft, and what the report says is incomplete
	"$cufence" load bad.cft -o bad.db 2>/dev/null
	local load=$?
	"$cufence" check bad.db >/dev/null 2>&1
	echo "$load $? $("$cufence" report bad.db 2>/dev/null | grep -c 'incomplete: the trace was cut')"
}

for cut in 5000 69632 69640 134000 $((4096 + 2 * 65536)) $((size - 1)); do
	head -c "$cut" good.cft >bad.cft
	same "cut at $cut" "0 2 1" "$(statuses)"
done
has "all is loaded that is whole: of $calls calls" "^$calls$" \
	"$("$cufence" query bad.db "SELECT count(*) FROM call")"
for chunk in 1 2; do
	cp good.cft bad.cft
	dd if=/dev/zero of=bad.cft bs=4096 seek=$((1 + 16 * chunk)) count=16 conv=notrunc 2>/dev/null
	same "chunk $chunk is zeros" "0 2 1" "$(statuses)"
done
"$cufence" dump bad.cft >bad.txt 2>/dev/null
same "dump says so" 2 "$?"
"$cufence" undump bad.txt -o bad.cft
same "and its text is no clean trace" "0 2 1" "$(statuses)"

"$cufence" load good.cft ./good.cft -o twice.db 2>err
same "a trace given twice is one process" 1 "$("$cufence" query twice.db "SELECT count(*) FROM process")"
has "and that is said" 'given before' "$(cat err)"

# A child that goes on when the program has ended: its trace is loaded as it is then.
"$cufence" run --sim -o going.db -- sh -c "$flood 2 2000000000 account & echo \$! >child; sleep 0.2" 2>err
same "a child goes on: status" 0 "$?"
"$cufence" check going.db >/dev/null 2>err
same "a child goes on: not clean" 2 "$?"
has "a child goes on: why" 'incomplete: the process was still running' "$(cat err)"
has "a child goes on: calls" '^[1-9]' "$("$cufence" query going.db "SELECT count(*) FROM call")"
kill "$(cat child)"

mkdir live
for i in 1 2 3 4 5 6; do
	LD_PRELOAD=$build/lib/libcufence.so LD_LIBRARY_PATH=$build/sim CUFENCE_OUT=$tmp/live \
		"$flood" 3 20000 account >/dev/null 2>&1 &
	child=$!
	while ! ls live/*.cft >/dev/null 2>&1 && kill -0 $child 2>/dev/null; do :; done
	"$cufence" load live/*.cft -o live.db 2>err
	same "load while it is written, $i" "0 " "$? $(cat err)"
	"$cufence" dump live/*.cft >/dev/null 2>err
	same "dump while it is written, $i" "0 " "$? $(cat err)"
	wait $child
	rm -f live/*
done

# A size that a text or a header claims costs nothing by itself.
printf 'cufence-trace version=1.0 chunk_size=1073741824 clock=1 features=0x1\nchunk thread=0\n' >huge.txt
"$cufence" undump huge.txt -o huge.cft 2>/dev/null
same "chunks of 1 GiB" 2 "$?"
cp good.cft sparse.cft
truncate -s 200G sparse.cft
(ulimit -t 5 && "$cufence" load sparse.cft -o sparse.db)
same "a sparse file" "0 $calls" "$? $("$cufence" query sparse.db "SELECT count(*) FROM call")"
finish
