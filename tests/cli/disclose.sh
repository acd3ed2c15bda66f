#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What reports for other programs reveal, and how their files are written.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence app=$build/testapps/free_in_loop
needs "$cufence" "$app" "$build/sim/libcuda.so.1"
mkdir "$tmp/folder-of-ann" && cd "$tmp/folder-of-ann" || exit 1

export CUDA_MODULE_LOADING=EAGER
cp "$app" app
"$cufence" run --sim -- "$PWD/app" --token=hunter2 >/dev/null 2>&1
same "the program's exit status" 0 $?
sqlite3 cufence.db "SELECT command FROM run" | grep -q hunter2
ok "the database has the command line" $?

for format in json html sarif junit github perfetto folded; do
	"$cufence" report --format $format -o out.$format
	ok "$format" $?
	same "$format: no argument of the command" 0 "$(grep -ac hunter2 out.$format)"
	"$cufence" report --redact --format $format -o redacted.$format
	ok "$format: redacted" $?
	same "$format: redacted: no folder" 0 "$(grep -ac folder-of-ann redacted.$format)"
	same "$format: redacted: no environment" 0 \
		"$(grep -a CUDA_MODULE_LOADING redacted.$format | grep -avc "CUDA_MODULE_LOADING=EAGER \(./app\|python\)")"
done
for format in json html sarif junit perfetto; do
	"$cufence" report --command-line --format $format -o whole.$format
	grep -aq hunter2 whole.$format
	ok "$format: --command-line" $?
done
has "json: settings are there by default" CUDA_MODULE_LOADING "$(cat out.json)"
has "text: the command line" hunter2 "$("$cufence" report | head -n 1)"
same "text: redacted" "cufence: app" "$("$cufence" report --redact | head -n 1)"
same "check: junit" 0 "$("$cufence" check --format junit 2>&1 | grep -ac hunter2)"
has "check: --command-line" hunter2 "$("$cufence" check --format junit --command-line 2>/dev/null)"

# A file is complete or the previous one; its rights stay.
echo previous >kept.json
chmod 600 kept.json
"$cufence" report --finding 99 --format json -o kept.json 2>/dev/null
same "a report that fails keeps the previous file" previous "$(cat kept.json)"
ln kept.json opened.json
"$cufence" report --format json -o kept.json
same "who has the previous file open keeps it" previous "$(cat opened.json)"
same "rights stay" 600 "$(stat -c %a kept.json)"
ln -s kept.json link.json
"$cufence" report --format json -o link.json
[ -L link.json ]
ok "a link stays a link" $?
same "a pipe is written to" "{" "$("$cufence" report --format json -o /dev/stdout | head -c 1)"
same "nothing is left over" "" "$(ls | grep tmp-)"

# Another program changes the database.
sqlite3 cufence.db "BEGIN EXCLUSIVE" ".shell touch locked; sleep 20" & 
locker=$!
for _ in $(seq 100); do [ -e locked ] && break; sleep 0.05; done
has "a locked database" "'cufence.db' is in use by another program" "$("$cufence" report 2>&1)"
pkill -P $locker sleep 2>/dev/null
kill $locker 2>/dev/null
wait $locker 2>/dev/null
finish
