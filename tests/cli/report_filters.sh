#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence report" with filters: findings of golden traces that have an instance there, and no others.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1

golden_text accidental_order >trace.txt
"$cufence" undump trace.txt -o trace.cft && "$cufence" load trace.cft -o accidental_order.db 2>/dev/null
ok "a trace is loaded" $?

# Finding 1: a launch on stream 15 after one on 14. Finding 2: frees that waited for kernels of both.
left() { # OPTION...: the numbers of findings, and the line about the filter
	"$cufence" report --all --color never "$@" accidental_order.db >out
	echo "$(sed -n 's/.* #\([0-9]*\)$/\1/p' out | xargs): $(grep '^only findings' out)"
}
same "a stream of both" "1 2: only findings on stream 14: 2 of 2" "$(left --stream 14)"
same "streams of a kind" "1 2: only findings on stream non-blocking: 2 of 2" "$(left --stream non-blocking)"
same "another stream" ": only findings on stream legacy: 0 of 2" "$(left --stream legacy)"
same "no filter, no line" "1 2: " "$(left)"
same "a kernel that the free waited for" "1 2: only findings of kernel 'stencil': 2 of 2" "$(left --kernel stencil)"
same "the program's pid" "1 2: only findings in process 1215: 2 of 2" "$(left --process 1215)"
same "another one's" ": only findings in process 1: 0 of 2" "$(left --process 1)"
same "a thread" "1 2: only findings of thread '1215': 2 of 2" "$(left --thread 1215)"
same "another thread" ": only findings of thread '1216': 0 of 2" "$(left --thread 1216)"
same "a range that is not there" ": only findings in range 'step': 0 of 2" "$(left --range step)"
same "before all work" ": only findings at :0.1 s: 0 of 2" "$(left --time :0.1)"
same "and after it" "1 2: only findings at 0.1: s: 2 of 2" "$(left --time 0.1:)"
same "both conditions for one instance" ": only findings on stream 14 of kernel 'accumulate': 0 of 2" \
	"$(left --stream 14 --kernel accumulate)"

# A finding of several processes is one, and in each of them.
golden_text free_in_loop >trace.txt
"$cufence" undump trace.txt -o one.cft && sed '1s/ pid=[0-9]*/ pid=77/' trace.txt | "$cufence" undump - -o other.cft &&
	"$cufence" load one.cft other.cft trace.cft -o several.db 2>/dev/null
ok "three traces are loaded" $?
same "of another process" "#2 only findings in process 77: 1 of 3" \
	"$("$cufence" report --all --process 77 several.db | sed -n 's/.* \(#[0-9]*\)$/\1/p; /^only/p' | sort | xargs)"

# Without what the frees waited for, nobody knows their streams.
if command -v sqlite3 >/dev/null; then
	cp accidental_order.db unknown.db
	sqlite3 unknown.db 'DELETE FROM wait; UPDATE finding_place SET other_call = NULL WHERE finding = 2'
	same "what cannot be decided stays" "#2 only findings on stream 99: 1 of 2" \
		"$("$cufence" report --all --stream 99 unknown.db | sed -n 's/.* \(#[0-9]*\)$/\1/p; /^only/p' | sort | xargs)"
	same "what can be does not" "only findings on stream 99 of thread '1216': 0 of 2" \
		"$("$cufence" report --all --stream 99 --thread 1216 unknown.db | grep ^only)"
fi

# Of the two lines of this finding only one launches the kernel.
golden_text missing_stream_argument >trace.txt
"$cufence" undump trace.txt -o trace.cft && "$cufence" load trace.cft -o lines.db 2>/dev/null
same "places that are kept" "at add_up, and 1 more place: cufence report --finding 1 lines.db" \
	"$("$cufence" report --kernel accumulate lines.db | sed -n 's/^    at   \([a-z_]*\).*/at \1,/p; s/^    and  /and /p' | xargs)"
"$cufence" report --format csv --all --kernel stencil accidental_order.db 2>err >out.csv
same "formats of others: said on stderr" "cufence: only findings of kernel 'stencil': 2 of 2" "$(cat err)"
"$cufence" report --format json --all --stream legacy accidental_order.db >out.json
"$build/tests/helpers/conforms" "$root/doc/report.schema.json" out.json
ok "JSON: conforms" $?
has "JSON: says so" '^"filter":"only findings on stream legacy: 0 of 2",$' "$(cat out.json)"
has "JSON: without" '^"total":0,"left_out":0,$' "$(cat out.json)"
"$cufence" report --format html -o page.html --stream legacy accidental_order.db
has "the page: says so" 'only findings on stream legacy: 0 of 2' "$(cat page.html)"
"$cufence" report --time 3 accidental_order.db >out 2>err
same "a mistake" "2 cufence report: --time is FROM:UNTIL in seconds of the run, not '3'" "$? $(cat err)"
finish
