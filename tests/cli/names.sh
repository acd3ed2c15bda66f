#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Names that a traced program chose, or a file has, do not act on the terminal and forge no lines,
# whatever prints them: escape sequences, carriage returns, newlines, marks of direction and bytes
# that are no UTF-8 are shown as \xNN.  JSON is UTF-8 and conforms to its schema.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
conforms=$build/tests/helpers/conforms
needs "$cufence" "$conforms"
cd "$tmp" || exit 1

# As it is, and as text traces have it: red, a tab, a carriage return, a line of its own, a
# right-to-left override, an isolate, a zero-width space, CSI as one character, half a character, a
# surrogate, DEL; and at last two letters that are shown.
evil=$'\033[31m\t\r\nforged: line\n\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xc2\x9b1m\xff\xe2\x82\xed\xa0\x80\x7f\xc3\xa4\xc3\xb6'
text='\\x1b[31m\\x09\\x0d\\x0aforged: line\\x0a\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x80\\x8b\\xc2\\x9b1m\\xff\\xe2\\x82\\xed\\xa0\\x80\\x7f\\xc3\\xa4\\xc3\\xb6'
shown='x1b\[31m.x09.x0d.x0aforged: line.x0a.xe2.x80.xae.xe2.x81.xa6.xe2.x80.x8b.xc2.x9b1m.xff.xe2.x82.xed.xa0.x80.x7fäö'

golden_text free_in_loop >free_in_loop.txt
# Every name in a trace, with and without its symbols, and one of each kind that it has not.
sed "/^\(function\|string\) /s/\"_ZN7cufence10accumulate[^\"]*\"/\"accumulate\"/; s/^\(symbol.*function=\"[^\"]*\)\(\" file=\"[^\"]*\)\"/\1$text\2$text\"/
	s/^\(\(thread\|deviceinfo\|module\|function\|string\|property\) .*\)\"\$/\1$text\"/
	s/^property name=\"command\".*/&\nproperty name=\"CUDA_MODULE_LOADING\" value=\"$text\"/
	s/^property name=\"command\".*/&\nproperty name=\"python.frames\" value=\"none: $text\"/
	s/^property name=\"command\".*/&\nproperty name=\"cupti.holder\" value=\"$text\"/
	s/ cupti_state=[0-9]*/ cupti_state=5/; s/ closed=1/ closed=0/" free_in_loop.txt >evil.txt
grep -v ^symbol evil.txt >evil_stripped.txt
cp free_in_loop.txt "$evil.txt"

is_shown() { # TEXT FILE...: nothing in it acts on a terminal or begins a line
	local what=$1
	shift
	! LC_ALL=C grep -aPn '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|^forged' \
		"$@" | cat -v | head -n 5 | grep . && iconv -f UTF-8 -t UTF-8 "$@" >iconv.out
	ok "$what" $?
}

commands() { # DATABASE: all that prints names in it
	local db=$1 op
	"$cufence" report "$db"
	"$cufence" report --level possible --top 0 "$db"
	"$cufence" report --finding 1 "$db"
	"$cufence" check --allow-incomplete "$db"
	"$cufence" check "$db"
	"$cufence" query "$db" 'SELECT frob'
	"$cufence" stats --top 0 "$db"
	for op in 2 3 4 5 30; do
		"$cufence" why "$db" 1 $op
		"$cufence" why "$db" 12 $op
	done
}

# Each text in the database of one trace, whatever its meaning.
every_text="SELECT 'UPDATE ' || t.name || ' SET ' || c.name || ' = ' || c.name || ' || ' || (SELECT quote(value) FROM
	property WHERE name = 'CUDA_MODULE_LOADING') || ' WHERE ' || c.name || ' NOT NULL;' FROM sqlite_master t,
	pragma_table_info(t.name) c WHERE t.type = 'table' AND c.type = 'TEXT' AND t.name <> 'property'"

for trace in evil evil_stripped; do
	"$cufence" undump $trace.txt -o $trace.cft && "$cufence" load $trace.cft -o "$trace.db" 2>err
	ok "$trace loads" $?
	sqlite3 "$trace.db" "UPDATE run SET command = (SELECT value FROM property WHERE name = 'command');
		INSERT INTO loss VALUES (1, 'host_only', 1), (1, (SELECT value FROM property WHERE name = 'command'), 1);
		UPDATE call SET exit = NULL WHERE id = (SELECT max(id) FROM call)"
	commands $trace.db >out 2>&1
	is_shown "$trace: what commands print" out
	has "$trace: names are there, escaped" "$shown" "$(cat out)"
	"$cufence" report --level possible --format json $trace.db >report.json
	"$conforms" "$root/doc/report.schema.json" report.json
	ok "$trace: JSON conforms" $?
	is_shown "$trace: JSON on a terminal" report.json
	has "$trace: JSON has U+FFFD for what is no UTF-8" '202e.u2066.u200b.u009b1m(.ufffd){6}.u007fäö' "$(cat report.json)"
done
has "kernel names are escaped" "for kernel '[^']*$shown'" "$(cat out)"
has "devices" "^    device .*$shown" "$(cat out)"
has "the command line" "^cufence: .*$shown" "$(cat out)"
has "settings" "^    set      CUDA_MODULE_LOADING=.$shown" "$(cat out)"
has "who holds CUPTI, or a loss of another version" "^    incomplete: .*$shown \[pid" "$(cat out)"
has "module paths" "^    at .*$shown\+0x" "$(cat out)"
"$cufence" report --finding 1 evil.db >out
has "functions and files" "^    at .*$shown .*$shown:[0-9]+" "$(cat out)"
has "in a drawing each byte has a column" '[:[]accumulate\?\[31m\?\?\?forged' "$(cat out)"
cp evil.db every.db && sqlite3 every.db "$every_text" >every.sql && sqlite3 every.db <every.sql
ok "each text of a database" $?
commands every.db >out 2>&1
is_shown "each text of a database, printed" out
"$cufence" report --level possible --format json every.db >report.json
is_shown "each text of a database, in JSON" report.json

"$cufence" dump --symbols evil.cft >out 2>&1
is_shown "dump" out

# --- a query's values as they are, unless a terminal shows them ---
sql="SELECT value FROM property WHERE name = 'CUDA_MODULE_LOADING'"
same "a pipe gets the values" "$evil" "$("$cufence" query evil.db "$sql")"
if command -v script >/dev/null; then
	script -qec "$cufence query --header evil.db \"$sql; SELECT 1 AS '$evil'\"" /dev/null </dev/null | tr -d '\r' >out
	is_shown "a terminal what can be shown" out
	has "which is" "$shown" "$(cat out)"
	TERM=xterm script -qec "$cufence report evil.db" /dev/null </dev/null | tr -d '\r' | sed 's/\x1b\[\(0\|1\|31\|33\)m//g' >out
	is_shown "a report on a terminal but for its colors" out
fi

# --- what a fingerprint names is one line ---
"$cufence" query evil.db fingerprints >known
same "a fingerprint is a line" "$(sqlite3 evil.db "SELECT count(*) FROM finding")" "$(wc -l <known)"
is_shown "and can be shown" known
"$cufence" check --allow-incomplete --baseline known evil.db >out
same "and is known again" "0" "$?$(cat out)"

# --- names of files and words of command lines ---
says() { # TEXT COMMAND...: and fails
	local what=$1
	shift
	"$@" >out 2>&1 </dev/null
	[ $? -ne 0 ]
	ok "$what fails" $?
	is_shown "$what" out
	has "$what is named" "$shown" "$(cat out)"
}
says "an unknown command" "$cufence" "$evil"
says "an unknown option" "$cufence" report "--$evil"
says "a database that is not there" "$cufence" report "$evil.db"
says "a trace that is none" "$cufence" load "$evil.txt" -o x.db
says "a trace to dump that is none" "$cufence" dump "$evil.txt"
says "a text that is not there" "$cufence" undump "no $evil" -o x.cft
"$cufence" undump <(head -n 3 evil.txt; echo "$evil") -o x.cft >out 2>&1
is_shown "a text that is wrong" out
says "a format" "$cufence" report --format "$evil"
says "a query" "$cufence" query evil.db "SELECT [$evil]"
says "an operation" "$cufence" why evil.db 1 "$evil"
says "a severity" "$cufence" check --fail-on "$evil" evil.db
says "a list" "$cufence" check --baseline "no $evil" evil.db
says "a program" "$cufence" run -o x.db -- "./$evil"
says "a result" "$cufence" probe "no $evil"
cp evil.cft "$evil.cft"
"$cufence" load "$evil.cft" -o "$evil.db" >out 2>&1 && "$cufence" report "$evil.db" >>out 2>&1
ok "a database of such a name" $?
is_shown "hints with its name" out
finish
