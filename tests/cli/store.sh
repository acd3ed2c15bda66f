#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a trace to a database and its reports, as a user does it.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1

"$cufence" undump "$here/traces/blocking_free.txt" -o free.cft
ok "undump" $?
"$cufence" load free.cft >out 2>err
ok "load" $?
same "load says nothing" "" "$(cat out err)"
[ -e cufence.db ] && [ ! -e cufence.db.old ]
ok "writes cufence.db" $?
"$cufence" load free.cft -o cufence.db && [ -e cufence.db.old ]
ok "keeps the previous one" $?
same "no temporary file stays" "" "$(ls | grep tmp-)"

same "named query" "5	kernel	stencil	99	4401000" "$("$cufence" query cufence.db unmatched)"
same "SQL with a header" $'n\n10' "$("$cufence" query --header cufence.db 'SELECT count(*) AS n FROM call')"
for name in $("$cufence" query --list | cut -d' ' -f1); do
	"$cufence" query cufence.db "$name" >/dev/null
	ok "query $name" $?
done
for sql in 'DELETE FROM call' "VACUUM INTO 'copy.db'" 'nonsense' ''; do
	"$cufence" query cufence.db "$sql" >out 2>err
	same "query refuses: $sql" 2 "$?"
	[ -s err ]
	ok "and says why: $sql" $?
done
[ ! -e copy.db ]
ok "a query writes nothing" $?

report=$("$cufence" report cufence.db)
ok "report" $?
has "report sums the run up" '4 kernels, 1 copy' "$report"
has "report shows the finding" "^blocking-free: .*stencil.*\[high\]" "$report"
has "report says how to fix it" '^    fix  ' "$report"
has "one finding by id" '^blocking-free' "$("$cufence" report --finding 1 cufence.db)"
has "its worst instance in time" '^      stream [0-9]+ .*==\]' \
	"$("$cufence" report --finding 1 cufence.db)"
"$cufence" report --finding 99 cufence.db >out 2>err
same "no such finding" 2 "$?"
"$cufence" report --finding 0 cufence.db >out 2>err
same "findings count from 1" 2 "$?"
"$cufence" report -o report.txt cufence.db && same "report to a file" "$report" "$(cat report.txt)"
"$cufence" report -o /nonexistent/x cufence.db 2>err
same "report to nowhere" 2 "$?"
json=$("$cufence" report --format json cufence.db)
has "JSON" '"rule":"blocking-free".*"waited_ns":[0-9]' "$json"
has "JSON counts calls" '"calls":9,' "$json"

findings=$("$cufence" check cufence.db)
same "check fails on findings" 1 "$?"
has "check prints them" 'blocking-free' "$findings"
same "check on its severity fails" "$findings" "$("$cufence" check --fail-on high cufence.db)"
"$cufence" check --fail-on pageable-async-copy cufence.db >out
same "check on another rule passes" "0" "$?$(cat out)"
"$cufence" check --fail-on blocking-free,pageable-async-copy cufence.db >out
same "check on this rule" 1 "$?"
for list in frobnicate , ''; do
	"$cufence" check --fail-on "$list" cufence.db >out 2>err
	same "check on what is no rule: '$list'" "2 0 1" "$? $(wc -l <out) $(wc -l <err)"
done
{ printf '# accepted\r\n\n' && "$cufence" query cufence.db fingerprints; } >known
same "check without what is known passes" "0" "$("$cufence" check --baseline known cufence.db; echo $?)"
sed 's/stencil/other/' known >others
same "check fails on what is not known" "$findings" "$("$cufence" check --baseline others cufence.db)"
"$cufence" check --baseline none cufence.db >out 2>err
same "check with a list that is not there" "2 1" "$? $(grep -c "'none'" err)"
sed 's/ end=1004302000/ end=1904302000/' "$here/traces/blocking_free.txt" >long.txt
"$cufence" undump long.txt -o long.cft && "$cufence" load long.cft -o long.db
same "what is below the threshold passes" "0" "$("$cufence" check long.db; echo $?)"
has "unless low severity is asked for" '\[low\]$' "$("$cufence" check --fail-on low long.db)"
same "and is accepted when it is known" "0" \
	"$("$cufence" query long.db fingerprints >known; "$cufence" check --fail-on low --baseline known long.db; echo $?)"
cp cufence.db before.db
"$cufence" analyze cufence.db
ok "analyze" $?
same "analyze gives the same findings" "$findings" "$("$cufence" check cufence.db)"
derived=$(sed -n '/^# Derived/,$ { s/^A view.*//; s/^## //p; }' "$here/../../doc/SCHEMA.md" | grep -v dependency)
rows() { for table in $derived; do "$cufence" query cufence.db "SELECT '$table', count(*) FROM $table"; done; }
before=$(rows)
"$cufence" analyze cufence.db
same "and no row of a derived table twice" "$before" "$(rows)"

sed 's/closed=1/closed=0/; s/ pid=/ pid=9/' "$here/traces/blocking_free.txt" >killed.txt
"$cufence" undump killed.txt -o killed.cft && "$cufence" load killed.cft -o killed.db
"$cufence" check killed.db >out 2>err
same "check of an incomplete trace" 2 "$?"
has "says what is missing" 'incomplete: the process exited abnormally' "$(cat err)"
"$cufence" check --allow-incomplete killed.db >out 2>err
same "check --allow-incomplete" 1 "$?"

cp free.cft damaged.cft
printf '\0\0' | dd of=damaged.cft bs=1 seek=4128 conv=notrunc 2>/dev/null
"$cufence" load damaged.cft -o damaged.db 2>err
same "a damaged trace is loaded as far as it is whole" 0 "$?"
has "the damage is named, with the offset" "damaged.cft.*offset 4128" "$(cat err)"
"$cufence" check damaged.db 2>err
same "and is not clean" 2 "$?"
head -c 50000 before.db >damaged.db
"$cufence" check damaged.db 2>err
same "a damaged database" "2 1" "$? $(grep -c "'damaged.db' is damaged" err)"
for version in '\0:load the traces again' '\377:a newer cufence made it, use that one'; do
	cp before.db other.db
	printf "${version%%:*}" | dd of=other.db bs=1 seek=63 conv=notrunc 2>/dev/null # user_version
	"$cufence" check other.db >out 2>err
	same "a database of another schema" "2 1" "$? $(grep -c "${version#*:}" err)"
done
"$cufence" load none.cft -o cufence.db 2>err
same "a missing trace" 2 "$?"
cmp -s before.db cufence.db || "$cufence" check cufence.db >/dev/null
[ -e cufence.db ]
ok "leaves the database alone" $?
head -c 100 free.cft >short.cft
"$cufence" load short.cft 2>err
same "a trace cut short" 2 "$?"
"$cufence" report free.cft 2>err
same "not a database" 2 "$?"
"$cufence" load free.cft killed.cft -o both.db
same "two traces, two processes" 2 "$("$cufence" query both.db 'SELECT count(*) FROM process')"

"$cufence" dump free.cft >free.txt && "$cufence" undump - -o again.cft <free.txt && cmp free.cft again.cft
ok "dump and undump are lossless" $?
"$cufence" dump short.cft >out 2>err
same "dump of a damaged trace" 2 "$?"
finish
