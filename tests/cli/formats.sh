#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the formats for other programs, Perfetto to CSV, of the golden
# traces (apps.sh checks them for all test apps); also what a check accepts.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")/../formats" && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/tests/helpers/at_once"
cd "$tmp" || exit 1
export PYTHONDONTWRITEBYTECODE=1

load() { # NAME: a trace as text, from standard input
	"$cufence" undump - -o "$1.cft" && "$cufence" load "$1.cft" -o "$1.db" 2>err
	ok "$1: is loaded" $?
}

mkdir all
export_all() { # NAME: in all formats that formats.py checks
	local format
	for format in json $kinds; do
		line /dev/null report --level possible --format "$format" -o "all/$1.$format" "$1.db"
	done | "$build/tests/helpers/at_once" "$1.db" >statuses
	same "$1: all formats are written" "$(wc -w <<<"json $kinds") 0" "$(uniq -c statuses | xargs)"
}

golden_text free_in_loop | load free_in_loop
golden_text accidental_order | load accidental_order
# Sanitizers see the exports of all rules in apps.sh.
traces=$golden/*.txt
sanitized && traces="$golden/free_in_loop.txt $golden/late_end.txt $golden/texture_race.txt"
if command -v python3 >/dev/null; then
	kinds=$(python3 "$here/formats.py" --kinds)
	# A format is known here and in the pages; conforms reads JSON, use.py HTML and patch.sh the diff.
	choices=$("$cufence" help report | sed -n 's/^    --format \([a-z|]*\).*/\1/p')
	same "every format has a check" "$(tr '|' '\n' <<<"$choices" | sort)" \
		"$(printf '%s\n' $kinds text json html patch | sort)"
	has "the manual has its choices" "^\.BR .-.-format \" ${choices//|/\\|}\"" "$(cat "$here/../../doc/cufence.1")"
	for kind in $kinds html json patch; do
		has "doc/CI.md has .$kind" "^\| .*\`\.$kind\`.* \|" "$(cat "$here/../../doc/CI.md")"
	done
	for trace in $traces; do
		name=$(basename "$trace" .txt)
		[[ $name = *_static ]] && continue
		[ -e "$name.db" ] || golden_text "$name" | load "$name"
		export_all "$name"
	done
	# Names are anybody's.
	golden_text free_in_loop | sed "s|_ZN7cufence10accumulateEyPKfPfm|a,b:<\&>%]]>$(printf '\342\200\256')|g
		s|file=\"testapps/free_in_loop.cu\"|file=\"a b,c:d%25<\&>.cu\"|" | load hostile
	export_all hostile
	"$cufence" undump <(golden_text double_buffer | sed '/^device /d; 1s/features=0x3/features=0x1/') -o host.cft
	"$cufence" load host.cft -o host.db 2>/dev/null
	export_all host
	# Some places were tried by confirm.
	golden_text texture_race | load tried
	sqlite3 tried.db "INSERT INTO confirmation SELECT fingerprint, CASE id % 3 WHEN 1 THEN 'confirmed'
		WHEN 2 THEN 'order-missing' ELSE 'not-confirmed' END, 'place ' || id || ', 1 of 2 tries' FROM finding_place WHERE id % 4"
	export_all tried
	same "... which are at hand" 1 "$(sqlite3 tried.db "SELECT count(*) > 1 FROM confirmation")"
	# Ranges of the program's own are drawn by themselves, on lanes that no call is on.
	golden_text free_in_loop | load ranged
	sqlite3 ranged.db "INSERT INTO range SELECT process, thread, 'range ' || id, enter, exit FROM call
		WHERE exit > enter AND result = 0 ORDER BY id LIMIT 20"
	export_all ranged
	[ -e all/free_in_loop.perfetto ] && read -r plain _ < <(python3 "$here/formats.py" --slices all/free_in_loop.perfetto)
	same "ranges add their slices, and no others" "$((plain + 20)) 20" "$(python3 "$here/formats.py" --slices all/ranged.perfetto)"
	python3 "$here/formats.py" all
	ok "they are what each format asks for, and what the report says" $?
	schema_of_sarif all
	# An end that was impossible is drawn corrected, and said to be.
	for format in perfetto html; do
		"$cufence" report --format $format -o late."$format" late_end.db
		grep -aq 'copy device to device (its end is not known)' late."$format"
		ok "late_end: $format says that an end is not known" $?
	done
	# Findings begin where their call does: they lead from no thread's track to a call.
	golden_text double_buffer | load fences
	export_all fences
	read -r calls submitted waits fences < <(python3 "$here/formats.py" --flows all/fences.perfetto)
	same "a flow from each record to its wait" "$("$cufence" query fences.db \
		"SELECT count(DISTINCT record || ' ' || call) FROM event_wait WHERE record NOT NULL")" "$calls"
	same "from each call to its work" "$("$cufence" query fences.db "SELECT count(call) FROM operation")" "$submitted"
	[ "$waits" -gt 0 ] && [ "$fences" -gt 0 ]
	ok "and to waits and along fences ($waits, $fences)" $?
else
	echo "skipped: no python3"
fi

# --- Markdown as GitHub reads it: a row of the table for each finding, and nothing outside of it ---
if command -v cmark-gfm >/dev/null; then
	for file in all/*.markdown; do
		cmark-gfm -e table --unsafe "$file" >parsed
		rows=$(grep -c '^| [0-9]' "$file")
		same "$(basename "$file"): rows, cells, and no markup from names" "$((rows ? rows + 1 : 0)) $((5 * rows)) 0" \
			"$(grep -c '^<tr>' parsed) $(grep -c '^<td>' parsed) $(sed 's/<br *\/*>//g; s/<\/*code>//g' parsed |
				grep -c '<td>.*<[^/]\|<img\|<a ')"
	done
else
	echo "skipped: no cmark-gfm"
fi

# --- a format by the ending of the file ---
for ending in txt:text json:json html:html md:markdown csv:csv xml:junit sarif:sarif perfetto-trace:perfetto \
	pftrace:perfetto; do
	mkdir -p by/a.dir
	"$cufence" report -o "by/a.dir/x.${ending%:*}" free_in_loop.db &&
		"$cufence" report --format "${ending#*:}" -o by/named free_in_loop.db && cmp -s "by/a.dir/x.${ending%:*}" by/named
	ok ".${ending%:*} is ${ending#*:}" $?
done
"$cufence" report -o by/a.dir/plain free_in_loop.db && grep -q '^blocking-free: ' by/a.dir/plain
ok "a file without an ending is text" $?
"$cufence" report -o by/x.pdf free_in_loop.db 2>err
same "an ending that is none is refused" "2 no" "$? $([ -e by/x.pdf ] && echo yes || echo no)"
has "and all that are are listed" "'.pdf'; .*\.text, \.txt, .*\.md, .*\.pftrace, .*\.xml" "$(cat err)"
"$cufence" check -o by/x.html free_in_loop.db 2>err
same "a check writes no page" 2 $?
same "and offers none" 0 "$(grep -c '\.html,' err)"
"$cufence" check -o by/x.md free_in_loop.db 2>err
has "a check's Markdown" '^### cufence: 1 finding$' "$(cat by/x.md)"
"$cufence" stats -o by/x.xml free_in_loop.db 2>err
same "statistics have no such ending" 2 $?
has "and say which" 'txt, .csv or .json' "$(cat err)"

# --- what a check accepts ---
check() { # TEXT STATUS OPTION...: stdout in out, stderr in err
	local text=$1 wanted=$2
	shift 2
	"$cufence" check "$@" free_in_loop.db >out 2>err
	same "$text" "$wanted" $?
}
check "a finding fails" 1
has "with number, function and place" '^testapps/free_in_loop.cu:22: blocking-free #1 in free_scratch: cudaFree waited ' "$(cat out)"
has "the summary counts it" '^cufence check: free_in_loop.db: 1 finding fails \(1 high\); places accepted: 0 in' "$(cat err)"
has "and says what next" '^    next  *cufence report --finding 1 free_in_loop.db$' "$(cat err)"
check "a baseline is written" 0 --write-baseline base
has "with places and cost" '^blocking-free free_scratch#1[^	]*	blocking-free	free_in_loop.cu:22	free_in_loop.cu:[0-9]*	[0-9]* times, [0-9.]* ms host wait$' "$(cat base)"
check "it accepts what was there" 0 --baseline base --fail-on low
same "and nothing fails" "" "$(cat out)"
echo 'blocking-copy gone#1' >>base
check "what went" 0 --baseline base
has "is said" '^    gone  *blocking-copy gone#1$' "$(cat err)"
grep -v '^blocking-free' base >less
check "what is not in it fails" 1 --baseline less
block() { printf '%s\n' "$@" ''; }
block '# why' 'rule: blocking-free' 'function: free_*' 'reason: once a step' >good
check "a suppression accepts" 0 --suppressions good
has "for its reason" '^    suppressed  blocking-free: once a step$' "$(cat err)"
block 'rule: blocking-free' 'function: other*' 'reason: none' >unused
check "of another function it does not" 1 --suppressions unused
has "and is said to be unused" '^unused:1: warning: unused suppression: .*blocking-free in other\*$' "$(cat err)"
block 'rule: blocking-free' 'function: *' 'reason: none' 'until: 2020-02-29' >past
check "past its day it accepts nothing" 1 --suppressions past
has "and is said to have ended" '^past:1: warning: the suppression of .* ended on 2020-02-29$' "$(cat err)"
sed 's/2020/9999/' past >later
check "before it does" 0 --suppressions later
block "fingerprint: $(sed -n 's/^\(blocking-free [^	]*\).*/\1/p' base)" 'reason: measured' >exact
check "so does that of a fingerprint" 0 --suppressions exact
for wrong in 'rule: blocking-free' 'rule: blocking-free|function: *' 'reason: x' 'rule: no-such|function: *|reason: x' \
	'fingerprint: x|rule: blocking-free|reason: y' 'rule: blocking-free|function: *|reason: x|until: 2026-13-01' \
	'frobnicate: 1' 'rule: blocking-free|rule: blocking-free' 'reason:'; do
	tr '|' '\n' <<<"$wrong" >wrong
	check "refused: $wrong" 2 --suppressions wrong
	has "with its line: $wrong" '^cufence check: wrong:[0-9]+: ' "$(cat err)"
done
check "what all cost is allowed" 0 --fail-on none --max-cost 1000
check "or not" 1 --fail-on none --max-cost 0.1
has "and is said" '^free_in_loop.db: max-cost: all findings together cost [0-9.]+ ms of each turn .*--max-cost allows 100 us$' "$(cat out)"
check "a cost is a number" 2 --max-cost much
check "a format that is none" 2 --format xml
check "the database is not overwritten" 2 --write-baseline free_in_loop.db
if command -v python3 >/dev/null; then
	check "SARIF of a check" 0 --format sarif --suppressions good --baseline base
	mkdir checked && cp out checked/out.sarif
	schema_of_sarif checked
	same "says what is accepted" "['once a step'] ['unchanged']" "$(python3 -c '
import json
results = json.load(open("out"))["runs"][0]["results"]
print([s["justification"] for r in results for s in r["suppressions"]],
	sorted(r["baselineState"] for r in results))')"
fi
check "JUnit of a check" 0 --format junit --suppressions good
has "skips what is accepted" 'name="blocking-free" time="0\.0[0-9]*"><skipped message="0 in the baseline, 1 suppressed"' "$(cat out)"
check "Markdown of a check" 0 --format markdown --suppressions good
has "counts what is accepted" '^### cufence: no finding$' "$(cat out)"
has "in words" '^Places accepted: 0 in the baseline, 1 suppressed\. Other findings, .*: 0\.$' "$(cat out)"
check "annotations of a check" 1 --format github
same "are those that fail" 1 "$(grep -c '^::error file=testapps/free_in_loop.cu,line=22,title=blocking-free #1::' out)"
# What is possible only fails no check, and every format says so once: with the finding or without.
golden_text recycled_block_fixed | load possible
said='1 possible race: recycled_block.cu:48 in download: .*: cufence confirm [0-9]* -- CMD'
for format in sarif junit github markdown; do
	"$cufence" check --format $format -o out possible.db 2>err
	same "$format: a possible race passes" "0 1" "$? $(sed 's/&#95;/_/g' out | grep -c "$said")"
	"$cufence" report --level possible --format $format -o out possible.db
	same "$format: and is not said twice" 0 "$(grep -c "$said" out)"
done
has "the summary says it, too" "^    note  *${said% \[*} possible.db [0-9]* -- CMD" "$(cat err)"
"$cufence" check --write-baseline base possible.db 2>err
"$cufence" check --baseline base possible.db 2>err
same "but not what was accepted" 0 "$(grep -c 'possible race' err)"
golden_text free_in_loop | sed 's/closed=1/closed=0/' | load killed
"$cufence" check --format junit killed.db >out 2>err
same "an incomplete trace is an error of JUnit" "2 1" "$? $(grep -c '<testcase classname="run" name="trace" time="0"><error message="the trace is incomplete' out)"

"$cufence" check --format markdown killed.db >out 2>err
has "and the title of Markdown" '^### cufence: the run cannot be judged$' "$(cat out)"
has "with the reason" '^\*\*Failed:\*\* trace: the trace is incomplete' "$(cat out)"

# --- the problem matcher of doc/CI.md ---
if command -v jq >/dev/null; then
	sed -n '/"problemMatcher"/,/^    *}$/p' "$here/../../doc/CI.md" >matcher
	pattern=$(sed -n 's/.*"regexp": \("[^ ].*"\),*$/\1/p' matcher | jq -r .)
	check "a check's lines" 1
	same "are all matched" "$(wc -l <out)" "$(jq -R --arg p "$pattern" 'capture($p) | length' out 2>&1 | wc -l)"
	same "by file, line and message" 'testapps/free_in_loop.cu 22 blocking-free #1 in free_scratch' \
		"$(jq -rR --arg p "$pattern" '[match($p).captures[].string] | .[0] + " " + .[1] + " " + (.[2] | split(":")[0])' out)"
	check "and those of calls" 1 --forbid free,device-wide
	same "are matched, without their callers" "$(grep -v '^ ' out)" \
		"$(jq -rR --arg p "$pattern" 'select(test($p))' out)"
	has "with all policies in the message" '^22 free, device-wide in free_scratch: ' \
		"$(jq -rR --arg p "$pattern" 'select(test($p)) | [match($p).captures[].string] | .[1] + " " + .[2]' out)"
fi

finish
