#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every query that ships with the program, on traces from an H200: the first rows of each are in
# tests/cli/queries.txt, which --update as second argument rewrites.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence"
query() { "$cufence" query "$tmp/$1.db" "$2"; }

for app in double_buffer polling_query; do
	golden_text "$app" | "$cufence" undump - -o "$tmp/$app.cft" &&
		"$cufence" load "$tmp/$app.cft" -o "$tmp/$app.db"
	ok "$app loads" $?
	for name in $("$cufence" query --list | cut -d' ' -f1); do
		echo "== $app $name"
		"$cufence" query --header "$tmp/$app.db" "$name" | head -n 8
	done
done >"$tmp/got"
[ "${2:-}" = --update ] && cp "$tmp/got" "$here/queries.txt"
same "queries" "$(cat "$here/queries.txt")" "$(cat "$tmp/got")"
same "each has a line of its own" "" "$("$cufence" query --list | awk 'NF < 3' )"

# The same answers, computed by other queries.
same "overlap" "$(query double_buffer "SELECT a.stream, b.stream, count(*),
	sum(min(a.end, b.end) - max(a.start, b.start)) FROM operation a, operation b
	WHERE a.stream < b.stream AND a.start < b.end AND b.start < a.end GROUP BY 1, 2")" \
	"$(query double_buffer overlap)"
busy_in_gaps() {
	query double_buffer gaps | while IFS=$'\t' read -r device from idle rest; do
		query double_buffer "SELECT 1 FROM operation
			WHERE device = $device AND end > $from AND start < $from + $idle"
	done
}
same "gaps are idle" "" "$(busy_in_gaps)"
# The most that was alive at the return of any call that made memory.
most="SELECT memory, max(live) FROM (SELECT a.memory, (SELECT sum(b.bytes) FROM allocation b
	JOIN call m ON m.id = b.created LEFT JOIN call f ON f.id = b.freed
	WHERE b.memory = a.memory AND m.exit <= c.exit AND (f.id IS NULL OR f.enter > c.exit)) AS live
	FROM allocation a JOIN call c ON c.id = a.created) GROUP BY memory"
same "growth ends at the most that was alive" "$(query double_buffer "$most")" \
	"$(query double_buffer growth |
		awk '{ most[$1] = $3 } END { for (m in most) print m "\t" most[m] }' | sort)"
same "calls" "$(query double_buffer "SELECT sum(exit - enter) FROM call")" \
	"$(query double_buffer calls | awk -F'\t' '{ s += $3 } END { print s }')"
finish
