#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Streams by the names that a program gives them: the last one, of this life of the handle.
. "$(dirname "$0")/lib.sh" "$@"
helpers=$build/tests/helpers
needs "$helpers/stream_names" "$build/sim/libcuda.so.1"
cufence=$build/bin/cufence
query() { "$cufence" query "$tmp/db" "$1"; }

same "the program's output" 0 \
	"$("$cufence" run --sim -o "$tmp/db" -- "$helpers/stream_names" 2>/dev/null)"
names() { query "SELECT CASE WHEN name GLOB 'xx*' THEN length(CAST(name AS BLOB))
	ELSE coalesce(replace(name, ' ', '|'), '-') END FROM stream ORDER BY id" | xargs; }
same "names" "gone - copy z€ro a||b| a||b| 255 -" "$(names)"
same "a destroyed stream's handle was used again" 1 "$(query "SELECT count(*) FROM stream a
	JOIN stream b ON b.handle = a.handle AND b.id > a.id WHERE a.name = 'gone' AND b.name IS NULL")"
same "the default stream keeps its own" 0 "$(query "SELECT count(*) FROM stream WHERE kind = 'legacy' OR name = 'default'")"
"$cufence" report --all --finding 1 "$tmp/db" >"$tmp/report"
has "streams of one name have their numbers, too" \
	"on stream 18 'a  b ' overwrites .* on stream 17 'a  b ' writes" "$(cat "$tmp/report")"
has "the fix names them" "record an event on stream 17 'a  b ' after" "$(cat "$tmp/report")"
has "and the timeline" "^ *18 'a  b ' .*memset" "$(cat "$tmp/report")"
has "the two operations" "on stream 'copy', stream_names.c" "$("$cufence" why "$tmp/db" 1 2)"
same "filters take names and patterns" "stream 'copy'|stream 'z€ro'" "$(for name in copy 'z*o'; do
	"$cufence" stats --section streams --stream "$name" --format csv "$tmp/db" | grep -o "stream '[^']*'"
done | paste -sd'|')"
same "a name that none has" 0 "$("$cufence" stats --section streams --stream cop --format csv "$tmp/db" 2>/dev/null | grep -c "stream '")"
"$cufence" report --all --format json "$tmp/db" >"$tmp/json"
"$helpers/conforms" "$(dirname "$0")/../../doc/report.schema.json" "$tmp/json"
ok "names in JSON: conforms" $?
has "names in JSON" '"name": *"z€ro"' "$(cat "$tmp/json")"
"$cufence" report -o "$tmp/db.pftrace" "$tmp/db"
same "names of tracks" 1 "$(grep -ac "stream 'copy'" "$tmp/db.pftrace")"

# Work outside of recording windows is not recorded, names are; and so they are in the trace's text.
rm "$tmp/db"
"$cufence" run --sim --nvtx never --keep-trace -o "$tmp/db" -- "$helpers/stream_names" >/dev/null 2>&1
same "outside of windows" "gone - copy z€ro a||b| a||b| 255 -" "$(names)"
"$cufence" dump "$tmp"/db.traces-*/*.cft >"$tmp/text"
same "calls that name streams" 9 "$(grep -c '^call nvtxNameCudaStream .* | string=0x[0-9a-f]* stream=0x' "$tmp/text")"
rm "$tmp/db"
"$cufence" undump "$tmp/text" -o "$tmp/again.cft" && "$cufence" load "$tmp/again.cft" -o "$tmp/db" 2>/dev/null
same "from the text" "gone - copy z€ro a||b| a||b| 255 -" "$(names)"
finish
