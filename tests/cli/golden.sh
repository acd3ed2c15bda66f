#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The traces in tests/golden, recorded on an H200 by tests/gpu/golden, give the findings of the
# apps' .expect files, those of no app's name none.  That of growing_local_memory is of a host where
# the growing took 15 to 180 ms, older than the record's local memory, which was added by hand.
# peer_copy_apart is peer_copy_per_step with non-blocking streams, for which copies between devices
# come after nothing.  With --update as second argument, NAME.report is rewritten from them.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/tests/helpers/conforms"
for text in "$root"/tests/golden/*.txt; do
	[ -e "$text" ] || continue
	name=$(basename "$text" .txt)
	app=${name%_static}
	expect=$root/testapps/$app.expect
	[ "$app" = "${app%_fixed}" ] && [ -e "$expect" ] || expect=/dev/null
	rm -f "$tmp"/golden.*
	"$cufence" undump "$text" -o "$tmp/golden.cft" && "$cufence" load "$tmp/golden.cft" -o "$tmp/golden.db" 2>"$tmp/err"
	ok "$name: loads" $?
	same "$name: findings" "$(grep -v '^#' "$expect" | sort)" "$("$cufence" query "$tmp/golden.db" expect)"
	same "$name: every operation has its call" "" "$("$cufence" query "$tmp/golden.db" unmatched)"
	same "$name: foreign keys hold" "" \
		"$("$cufence" query "$tmp/golden.db" 'PRAGMA foreign_key_check')"
	"$cufence" report --level possible --format json "$tmp/golden.db" >"$tmp/golden.json" &&
		"$build/tests/helpers/conforms" "$root/doc/report.schema.json" "$tmp/golden.json"
	ok "$name: its JSON conforms to the schema" $?
	"$cufence" dump --symbols "$tmp/golden.cft" >"$tmp/again"
	same "$name: dump gives the text back" "$(md5sum <"$text")" "$(md5sum <"$tmp/again")"
	"$cufence" report "$tmp/golden.db" 2>&1 | sed "s|$tmp/||g" >"$tmp/report"
	if [ "${2:-}" = --update ]; then
		cp "$tmp/report" "${text%.txt}.report"
	elif [ -e "${text%.txt}.report" ]; then
		same "$name: report" "$(cat "${text%.txt}.report")" "$(cat "$tmp/report")"
	fi
done
finish
