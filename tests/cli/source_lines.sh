#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines of the program's source in reports, and the names of streams that fixes take from them.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
root=$(cd "$(dirname "$0")/../.." && pwd)
needs "$cufence" "$build/testapps/copy_in_pipeline" "$build/testapps/device_copy_race" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1
mkdir testapps
cp "$root"/testapps/{copy_in_pipeline,device_copy_race}.cu testapps
source=testapps/copy_in_pipeline.cu
line=$(grep -n 'cudaMemcpy(chunk' $source)
number=${line%%:*}
code=$(sed 's/^[0-9]*:[[:space:]]*//' <<<"$line")
cp "$build"/testapps/{copy_in_pipeline,device_copy_race} .
"$cufence" run --sim -o pipeline.db -- ./copy_in_pipeline >/dev/null 2>&1
"$cufence" run --sim -o race.db -- ./device_copy_race >/dev/null 2>&1

has "text: the line stands under its place" "^ *$number | " "$("$cufence" report pipeline.db)"
same "text: it is the source's" "$code" \
	"$("$cufence" report pipeline.db | sed -n "s/^ *$number | //p" | head -n 1)"
same "text: it comes after the place" "at" "$("$cufence" report pipeline.db | grep -B1 "^ *$number | " | awk '{print $1; exit}')"
"$cufence" report --format json -o out.json pipeline.db
same "json: the line" "$code" "$(sqlite3 :memory: \
	"SELECT json_extract(CAST(readfile('out.json') AS TEXT), '\$.findings[0].at.source')")"
has "html: the line" 'cudaMemcpy.chunk' "$("$cufence" report --format html pipeline.db)"
has "a fix names the program's stream" "let .stream. wait for it before .accumulate." \
	"$("$cufence" report race.db | grep '^    fix')"

# Redacted names have no folder: here they would be found.
cp testapps/*.cu .
for format in text json html; do
	same "$format: redacted: no source" 0 \
		"$("$cufence" report --redact --format $format pipeline.db | grep -c 'cudaMemcpy(chunk')"
done
rm -r testapps
same "text: no line of a source that is gone" 0 "$("$cufence" report pipeline.db | grep -c '^ *[0-9]* | ')"
same "json: nor there" 1 "$("$cufence" report --format json pipeline.db | grep -c '"source":null')"
finish
