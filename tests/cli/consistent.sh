#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# In the traces of tests/golden, recorded on an H200, no operation started before the end of one
# that is guaranteed to be ordered before it.  An operation changed to do so is found.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
consistent=$build/tests/golden/consistent
needs "$cufence" "$consistent"

load() { # of standard input, into $tmp/run.db
	rm -f "$tmp"/run.*
	"$cufence" undump - -o "$tmp/run.cft" &&
		"$cufence" load "$tmp/run.cft" -o "$tmp/run.db" 2>/dev/null
}

for text in "$golden"/*.txt; do
	name=$(basename "$text" .txt)
	golden_text "$name" | load && got=$("$consistent" "$tmp/run.db")
	status=$?
	ok "$name" $status
	[ $status -eq 0 ] || printf '%s\n' "$got" | head -n 5 | sed 's/^/#   /'
	has "$name: operations were looked at" ' [1-9][0-9]* operations' "$got"
done

# The second kernel seems to end later than it did: into what comes next in its stream.
golden_text one_stream >"$tmp/one_stream.txt"
longer() { # NS
	local line end
	line=$(grep -n '^device kind=1 ' "$tmp/one_stream.txt" | sed -n '2s/:.*//p')
	end=$(sed -n "${line}s/.* end=\([0-9]*\).*/\1/p" "$tmp/one_stream.txt")
	sed "${line}s/ end=$end / end=$((end + $1)) /" "$tmp/one_stream.txt" | load
}
longer 0
ok "as it was" $?
"$consistent" "$tmp/run.db" >"$tmp/got"
ok "as it was: consistent" $?
longer 3000
ok "3 us longer" $?
got=$("$consistent" "$tmp/run.db")
same "3 us longer: refused" 1 $?
has "3 us longer: names both" \
	'operation [0-9]* started [0-9]* ns before operation [0-9]* ended' "$got"
finish
