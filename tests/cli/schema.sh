#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/report.schema.json and its checker (tests/helpers/conforms), which refuses wrong documents and
# schemas.  golden.sh and apps.sh run it for every trace and program.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
conforms=$build/tests/helpers/conforms
schema=$root/doc/report.schema.json
needs "$cufence" "$conforms"
cd "$tmp" || exit 1

"$conforms" "$schema"
ok "the schema has keywords that are known, each member a description" $?
load_golden() { # NAME
	golden_text "$1" | "$cufence" undump - -o "$1.cft" && "$cufence" load "$1.cft" -o "$1.db" 2>/dev/null
}
load_golden free_in_loop && "$cufence" report --format json free_in_loop.db >right.json
"$conforms" "$schema" right.json
ok "a report is what it says" $?

wrong() { # TEXT PATTERN SED-EXPRESSION
	sed "$3" right.json >wrong.json
	cmp -s right.json wrong.json && ok "$1: is another document" 1
	got=$("$conforms" "$schema" wrong.json 2>&1)
	same "$1: is refused" 1 $?
	has "$1: why" "$2" "$got"
}
wrong "a number for a boolean" '/findings/0/shown: has another type' 's/"shown":true/"shown":1/'
wrong "a string for a number" '/run/calls: has another type' 's/"calls":\([0-9]*\),"inside/"calls":"\1","inside/'
wrong "a fraction" 'duration_ns: has another type' 's/"duration_ns":\([0-9]*\)/"duration_ns":\1.5/'
wrong "a null" '/findings/0/message: has another type' 's/"message":"[^"]*"/"message":null/'
wrong "a negative time" 'waited_ns: is below the minimum' 's/"waited_ns":/"waited_ns":-/'
wrong "no total" "'total' is missing" 's/"total":1,//'
wrong "a member more" '/findings/0/cost: is not in the schema' 's/"shown":true/&,"cost":1/'
wrong "a member of a place more" '/at/column: is not in the schema' 's/"at":{/&"column":1,/'
wrong "another severity" '/severity: is none of the values' 's/"severity":"high"/"severity":"grave"/'
wrong "another rule" "/rule: 'Free It' does not match" 's/"rule":"[^"]*"/"rule":"Free It"/'
wrong "a member twice" 'two members of one name' 's/"total":1,/&&/'
wrong "no UTF-8" 'no UTF-8' 's/cudaFree/\xed\xa0\x80/'
wrong "half a pair of surrogates" 'a wrong escape' 's/cudaFree/\\ud800/'
wrong "a control character" 'a control character' 's/cudaFree/\x1b/'
wrong "not to its end" 'neither' '$s/}$//'
wrong "more than one" 'more behind its end' '$s/$/{}/'
wrong "a comma more" 'no name of a member' 's/"total":1,/&,/'

bad_schema() { # TEXT SCHEMA
	printf '%s\n' "$2" >schema.json
	"$conforms" schema.json >out 2>&1
	same "$1" 1 $?
}
bad_schema "a keyword that is not known" '{"type":"object","oneOf":[]}'
bad_schema "a keyword that is not known, where no document goes" \
	'{"$defs":{"a":{"description":"b","maxLength":1}}}'
bad_schema "a type that is none" '{"type":"float"}'
bad_schema "a reference to nothing" '{"$ref":"#/$defs/a"}'
bad_schema "a member without a description" \
	'{"additionalProperties":false,"properties":{"a":{"type":"null"}}}'
bad_schema "a time without its unit" \
	'{"additionalProperties":false,"properties":{"a_ns":{"description":"how long"}}}'
bad_schema "an object with other members" '{"properties":{"a":{"description":"a"}}}'

# --- all findings, unless --top says how many ---
cp free_in_loop.db many.db && sqlite3 many.db "INSERT INTO finding SELECT id + n, process, rule,
	confidence, severity, shown, reads, count, waited, delayed, saving, saving_low, saving_high, share, turn_saving,
	site, other_site, call, other_call, message, fingerprint FROM finding, (WITH RECURSIVE n(n) AS
	(SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 39) SELECT n FROM n);
	INSERT INTO finding_place SELECT f.id, f.id, p.shown, p.count, p.waited, p.delayed, p.saving, p.share,
	p.site, p.other_site, p.call, p.other_call, p.confidence, p.kind, p.why, p.message,
	p.fix, p.hazard, p.fingerprint
	FROM finding_place p JOIN finding f ON f.id > 1;
	UPDATE finding SET shown = 0 WHERE id > 38"
count() { # REPORT-OPTION...: findings, their number, the number of others
	"$cufence" report --format json "$@" many.db >many.json && "$conforms" "$schema" many.json &&
		echo "$(grep -c '"rule":' many.json) $(grep -o '"total":[0-9]*,"left_out":[0-9]*' many.json)"
}
same "all findings" '38 "total":38,"left_out":2' "$(count)"
same "those not shown, too" '40 "total":40,"left_out":0' "$(count --level possible)"
same "some" '3 "total":38,"left_out":2' "$(count --top 3)"
same "one" '1 "total":1,"left_out":0' "$(count --finding 7)"
same "the text has ten" 10 "$("$cufence" report many.db | grep -c '^blocking-free')"
"$cufence" report --format json --finding 99 many.db >out 2>err
same "no such finding" "2 0 cufence: there is no finding 99 (see \"cufence report --all\")" "$? $(wc -c <out) $(cat err)"

cp free_in_loop.db endless.db && sqlite3 endless.db "UPDATE finding SET share = 9e999"
"$cufence" report --format json endless.db >out 2>err
same "a number that JSON has not is damage" "2 0" "$? $(wc -c <out)"

# --- what the text says above the findings, as numbers ---
load_golden double_buffer
"$cufence" report --format json double_buffer.db >summary.json
facts=$(tr -d '\n' <summary.json)
has "time, threads, calls" '"run":\{"duration_ns":[1-9][0-9]*,.*"threads":1,"calls":[1-9]' "$facts"
has "busy and overlap of the device" '"name":"NVIDIA H200","simulated":false,"busy_ns":[1-9][0-9]*,"overlapped_ns":[1-9]' "$facts"
has "operations by kind" '"operations":\[\{"kind":"[a-z]*","count":[1-9]' "$facts"
has "streams by kind" '"streams":\[\{"kind":"[a-z-]*","count":[1-9]' "$facts"
has "waits by kind" '"waits":\[\{"kind":"[a-z]*","count":[1-9][0-9]*,"waited_ns":[1-9]' "$facts"
has "coverage" '"operations_matched":([0-9]*),"calls":([0-9]*),"calls_placed":\2,"kernels":1,"kernels_with_parameters":1' "$facts"
has "losses, with booleans" '"reason":"passed_through","count":[0-9]*,"incomplete":false,"text":null' "$facts"
has "a complete trace" '"incomplete":false,"failed":false,"command"' "$facts"
sqlite3 double_buffer.db "INSERT INTO loss VALUES (1, 'dropped_device', 7);
	INSERT INTO property VALUES (1, 'CUDA_LAUNCH_BLOCKING', '1');
	INSERT INTO recording VALUES (1, 0, 500, 0, 'start'), (1, 500, 900, 1, 'profiler')"
"$cufence" report --format json double_buffer.db >summary.json
"$conforms" "$schema" summary.json
ok "windows, settings and losses are in the schema" $?
facts=$(tr -d '\n' <summary.json)
has "an incomplete one" '"incomplete":true,"failed":false,"command"' "$facts"
has "why" '"incomplete":true,"text":"CUPTI dropped 7 device records"' "$facts"
has "settings and what they mean" '"value":"1","meaning":"every launch waits' "$facts"
has "what was recorded" '"recording":\{"windows":1,"inside_ns":400,"whole_ns":900,"causes":"profiler"\}' "$facts"
has "each window" '"windows":\[\{"process":1,"start_ns":500,"end_ns":900,"cause":"profiler"\}\]' "$facts"
finish
