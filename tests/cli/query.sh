#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the output of "cufence query": tabs for programs, columns on a terminal, JSON, CSV.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
golden_text free_in_loop >trace.txt
"$cufence" undump trace.txt -o trace.cft && "$cufence" load trace.cft 2>err
ok "a database" $?
query() { "$cufence" query cufence.db "$@"; }
values="SELECT 12 AS number, 'one' AS word, NULL AS none, 2.5 AS part UNION ALL SELECT 3, 'three words', 'x', -1"

same "tabs, no names" $'12\tone\t\t2.5\n3\tthree words\tx\t-1' "$(query "$values")"
same "names with --header" $'number\tword\tnone\tpart' "$(query --header "$values" | head -n 1)"
same "the database may be left out" "$(query waits)" "$("$cufence" query waits)"
"$cufence" query cufence.db >out 2>err
same "a database alone" 2 "$?"
has "asks for the query" "the query is missing" "$(cat err)"
"$cufence" query cufence.db "SELECT * FROM nowhere" 2>err
has "no such table: where they are" 'no such table: nowhere \(SCHEMA.md' "$(cat err)"
"$cufence" query --json --csv waits 2>err
same "JSON or CSV" 2 "$?"

odd="SELECT 'a,b' AS \"c\"\"d\", 'e\"f' AS g, 'h' || char(10) || 'i' AS j, 'k' || char(9) AS l"
same "CSV quotes" $'"c""d",g,j,l\r\n"a,b","e""f","h\ni",k\t\r' "$(query --csv "$odd")"
if command -v python3 >/dev/null; then
	query --json "SELECT 1 a, 2.5 b, NULL c, 'h' || char(10) || 'i' || char(9) || '\"\' d" | python3 -c '
import json, sys
sys.exit(json.load(sys.stdin) != [{"a": 1, "b": 2.5, "c": None, "d": "h\ni\t\"\\"}])'
	ok "JSON is read back" $?
	same "JSON of all operations" "$(query 'SELECT count(*) FROM operation')" \
		"$(query --json 'SELECT * FROM operation' | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')"
	query --json "SELECT CAST(x'ff41' AS TEXT) a, char(27) || '[31m' b" |
		python3 -c 'import json, sys; json.load(sys.stdin)'
	ok "JSON of what is no UTF-8" $?
fi
same "JSON of no rows" "[]" "$(query --json 'SELECT 1 WHERE 0')"
if command -v script >/dev/null; then
	script -qec "$cufence query cufence.db \"$values\"" /dev/null </dev/null | tr -d '\r' >columns
	same "columns on a terminal" "number  word         none  part
    12  one                 2.5
     3  three words  x       -1" "$(sed 's/ *$//' columns)"
	script -qec "$cufence query cufence.db \"SELECT 'a' || char(27) || '[2J' AS x\"" /dev/null </dev/null >columns
	same "escapes are shown there" 0 "$(grep -c $'\033' columns)"
	has "as numbers" 'a\\x1b\[2J' "$(cat columns)"
	script -qec "$cufence query --csv cufence.db \"SELECT 1 AS x\"" /dev/null </dev/null | tr -d '\r' >columns
	same "CSV on a terminal stays CSV" $'x\n1' "$(cat columns)"
	script -qec "$cufence query cufence.db \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
		WHERE i < 3000) SELECT i FROM n\"" /dev/null </dev/null | tr -d '\r' >columns
	same "all rows, not only those that say how wide columns are" "3001 3000" \
		"$(wc -l <columns) $(tail -n 1 columns | tr -d ' ')"
else
	echo "skipped: no script: columns on a terminal"
fi
finish
