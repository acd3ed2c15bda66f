#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The traces in tests/golden, recorded on an H200 by tests/gpu/golden (traces with clock=3 on the
# simulated device, until a GPU records them; late_end is written by hand after a JAX program, a copy
# of which got an end that was seconds late), give the findings of the apps' .expect files; traces
# not named like an app give none.  A trace of an older source has an .expect file of its own.
# Every rule has a trace with a finding of it.  peer_copy_apart is peer_copy_per_step with non-blocking streams: copies between devices are not ordered after them.
# With --update as second argument, NAME.report is rewritten from them.
. "$(dirname "$0")/lib.sh" "$@"
. "$(dirname "$0")/expect.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/tests/helpers/conforms" "$build/tests/helpers/at_once"
questions() { # of golden.db
	line found query golden.db expect
	line unmatched query golden.db unmatched
	line keys query golden.db 'PRAGMA foreign_key_check'
	line shares query golden.db 'SELECT share FROM replay WHERE share < 0'
	line golden.json report --level possible --format json golden.db
	line report report golden.db
	line again dump --symbols golden.cft
}
# Away from the sources: the code of a program that was built as the recorded one is not available.
cd "$tmp" || exit 1
for text in "$golden"/*.txt; do
	[ -e "$text" ] || continue
	name=$(basename "$text" .txt)
	app=${name%_static}
	expect=$root/testapps/$app.expect
	[ "$app" = "${app%_fixed}" ] && [ -e "$expect" ] || expect=/dev/null
	[ -e "${text%.txt}.expect" ] && expect=${text%.txt}.expect
	rm -f golden.*
	golden_text "$name" >golden.txt
	"$cufence" undump golden.txt -o golden.cft && "$cufence" load golden.cft -o golden.db 2>err
	ok "$name: loads" $?
	# The dump of a trace that was cut says so.
	same "$name: all questions are answered, without a message" "0 0 0 0 0 0" \
		"$(questions | "$build/tests/helpers/at_once" golden.db 2>err | head -n 6 | xargs)$(
			grep -v "'golden.cft' is damaged" err)"
	found=$(<found)
	same "$name: findings" "$(wanted_findings "$expect" "$found")" "$found"
	sed 's/[: ].*//' found >>all_found
	same "$name: every operation has its call" "" "$(<unmatched)"
	same "$name: foreign keys hold" "" "$(<keys)"
	same "$name: what saves nothing has no share" "" "$(<shares)"
	"$build/tests/helpers/conforms" "$root/doc/report.schema.json" golden.json
	ok "$name: its JSON conforms to the schema" $?
	cmp -s golden.txt again
	ok "$name: dump gives the text back" $?
	if [ "${2:-}" = --update ]; then
		cp report "${text%.txt}.report"
	elif [ -e "${text%.txt}.report" ]; then
		same "$name: report" "$(cat "${text%.txt}.report")" "$(cat report)"
	fi
done
same "rules without a golden trace" "" \
	"$(sed -n 's/^RULE([a-z_]*, "\([^"]*\)".*/\1/p' "$root/analyzer/rules/rules.def" | grep -vxF -f all_found)"
finish
