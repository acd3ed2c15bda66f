#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of a run: its contents are compared with the database; if there is a browser, the page is
# used like a reader does.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")/../html" && pwd)
top=$(cd "$here/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence"
command -v python3 >/dev/null || { echo "skipped: no python3"; finish; }
cd "$tmp" || exit 1
mkdir pages
export PYTHONDONTWRITEBYTECODE=1

checks() { # COMMAND...: the lines of a Python script
	local line any=1
	"$@" >lines 2>&1 || { ok "$2: the checks run" 1; tail -n 5 lines; }
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok }" 0 && any=0 ;;
		"not ok "*) ok "${line#not ok }" 1 ;;
		*) echo "$line" ;;
		esac
	done <lines
	ok "${2##*/}: has checks" $any
}

page() { # NAME DB [OPTION...]
	local name=$1 db=$2
	shift 2
	"$cufence" report --format html -o "pages/$name.html" "$@" "$db" 2>err
	same "$name: a page is written" "0 " "$? $(cat err)"
}

load() { # NAME: a golden trace, from standard input
	"$cufence" undump - -o "$1.cft" && "$cufence" load "$1.cft" -o "$1.db" 2>err
	ok "$1: is loaded" $?
}

# Recorded on a GPU: their sources lie in this tree.
mkdir -p home && ln -s "$top/testapps" home/testapps && touch pages/sources
golden_text free_in_loop | load findings
golden_text accidental_order | load rest
for name in findings rest; do
	(cd home && "$cufence" report --format html -o "../pages/$name.html" "../$name.db") 2>err
	same "$name: a page is written" "0 " "$? $(cat err)"
done

# So do all other golden traces, which no browser opens.  Sanitizers see three: a page is written by the
# same code for all.
mkdir golden
names=() traces=$golden/*.txt
sanitized && traces="$golden/graph_pipeline.txt $golden/late_end.txt $golden/texture_race.txt"
for trace in $traces; do
	name=$(basename "$trace" .txt)
	golden_text "$name" >each.txt
	"$cufence" undump each.txt -o each.cft && "$cufence" load each.cft -o "$name.db" 2>/dev/null &&
		"$cufence" report --format html -o "golden/$name.html" "$name.db" 2>err
	same "$name: a page is written" "0 " "$? $(cat err)"
	names+=("$name")
done
checks python3 "$here/page.py" "$cufence" golden "${names[@]}"

# Names are anybody's.
script='</script><script>window.hacked=1</script>'
golden_text free_in_loop | sed "s|_ZN7cufence10accumulateEyPKfPfm|$script|g
	s|_ZN7cufence7stencilEyPKfPfm|<!--<script>$(printf '\342\200\256')|g
	s|^\(thread .*text=\)\"[^\"]*\"|\1\"<img src=x onerror=window.hacked=1>\"|
	s|\(name=\"command\" value=\)\"[^\"]*\"|\1\"<b class=x>\&amp;$script\"|
	s|file=\"testapps/free_in_loop.cu\"|file=\"]]>$script.cu\"|" | load hostile
page hostile hostile.db

# Only source files are read; no pipe or device is opened.
source_of() { # FILE: what the page shows of line 1 of a file of that name
	golden_text free_in_loop | sed "/^symbol /s|line=22 function=\"[^\"]*\" file=\"[^\"]*\"|line=1 function=\"f\" file=\"$1\"|" >named.txt
	"$cufence" undump named.txt -o named.cft && "$cufence" load named.cft -o named.db 2>err &&
		timeout -s KILL 10 "$cufence" report --format html -o named.html named.db
	echo "$? $(grep -c 'a secret' named.html)"
	rm -f named.*
}
echo 'a secret' | tee secret.txt secret.cu >/dev/null
mkdir below && mkfifo below/pipe.cu
same "a source is read" "0 1" "$(source_of "$tmp/secret.cu")"
same "a file that is none is not" "0 0" "$(source_of "$tmp/secret.txt")"
same "nor is a pipe opened" "0 0" "$(source_of "$tmp/below/pipe.cu")"
same "nor one above, by a relative name" "0 0" "$(cd below && source_of "../secret.cu")"

# With nothing to show, with no device side, cut, and of several processes.
"$cufence" run -o none.db -- true 2>/dev/null
[ -e none.db ] && page none none.db
golden_text double_buffer | sed '/^device /d; 1s/features=0x3/features=0x1/' | load host
page host host.db
"$cufence" undump <(golden_text free_in_loop) -o whole.cft
head -c $(($(stat -c %s whole.cft) / 2)) whole.cft >cut.cft
"$cufence" load cut.cft -o cut.db 2>/dev/null
page cut cut.db
"$cufence" load findings.cft rest.cft -o several.db 2>/dev/null
page several several.db
page possible findings.db --level possible
# Ranges lie in each other, overlap, are marks, or never end.
cp findings.db ranges.db
python3 - <<'END'
import sqlite3
database = sqlite3.connect("ranges.db")
process, thread, start, end = database.execute(
    "SELECT process, thread, min(enter), max(exit) FROM call GROUP BY thread LIMIT 1").fetchone()
part = (end - start) // 10
for name, first, last in (("step", 1, 5), ("forward", 1, 3), ("step", 5, 9), ("overlaps", 4, 6), ("mark", 2, 2),
                          ("open", 8, None)):
    database.execute("INSERT INTO range VALUES (?, ?, ?, ?, ?)", (process, thread, name, start + first * part,
                     None if last is None else start + last * part))
database.commit()
END
page ranges ranges.db
page chosen findings.db --finding 1
checks python3 "$here/page.py" "$cufence" pages findings rest hostile host cut several ranges
has "a trace that is cut is said to be" 'The trace was cut|trace was cut' "$(cat pages/cut.html)"
"$cufence" report --format html --finding 99 -o gone.html findings.db 2>err
same "a finding that is not there" "2 cufence: there is no finding 99 (see \"cufence report --all\")" "$? $(cat err)"
"$cufence" report --format html findings.db >stdout.html
(cd home && "$cufence" report --format html ../findings.db) | cmp -s - pages/findings.html
ok "on standard output it is the same" $?

# A page of ten thousand operations.
if [ -x "$build/bench/make_trace" ]; then
	"$build/bench/make_trace" 14600 ten.cft 3000
	"$cufence" load ten.cft -o ten.db
	page ten ten.db
	size=$(stat -c %s pages/ten.html)
	[ "$size" -lt 1000000 ]
	ok "10 000 operations take less than 1 MB ($size bytes)" $?
fi

# As a user makes a page.
if [ -x "$build/testapps/two_consumers" ] && [ -e "$build/sim/libcuda.so.1" ]; then
	"$cufence" run --sim -o fences.db -- "$build/testapps/two_consumers" >/dev/null 2>&1
	page fences fences.db
	"$cufence" run --sim -o race.db -- "$build/testapps/missing_stream_argument" >/dev/null 2>&1
	timeout 60 "$cufence" confirm race.db 1 -- "$build/testapps/missing_stream_argument" >/dev/null
	page race race.db
	checks python3 "$here/page.py" "$cufence" pages fences race
	has "a page has what confirm found out" '"test","confirmed: kernel ' "$(cat pages/race.html)"
fi
if ! command -v chromedriver >/dev/null; then
	echo "skipped: the pages in a browser: there is no chromedriver (make deps installs it where Debian has it)"
elif ! [ -e pages/fences.html ] || ! [ -e pages/ten.html ]; then
	echo "skipped: the pages in a browser: no test app or trace was built for them"
else
	checks python3 "$here/use.py" pages
fi
finish
