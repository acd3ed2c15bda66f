#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each seed of tests/fuzz is a trace that is read to its end, and every type of record
# (trace/layout.c) is in one of them.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
types() { # of the records of a text on standard input, each as often as it is there
	sed -n 's/^\([a-z]*\) .*/\1/p' | sort
}

for seed in "$root"/tests/fuzz/corpus/*.txt; do
	name=$(basename "$seed" .txt)
	"$cufence" undump "$seed" -o seed.cft && "$cufence" load seed.cft -o seed.db 2>err
	ok "$name: loads" $?
	same "$name: nothing in it is damaged" 0 "$(grep -c damaged err)"
	"$cufence" dump --symbols seed.cft >again
	same "$name: each record is read" "$(types <"$seed")" "$(types <again)"
done
same "types of records without a seed" "" "$(sed -n 's/.*LAYOUT([a-z_]*, "\([a-z]*\)").*/\1/p' "$root/trace/layout.c" |
	grep -vxF "$(cat "$root"/tests/fuzz/corpus/*.txt | types)")"
finish
