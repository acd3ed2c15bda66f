#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/directions.sh BUILD: the results for every kernel of kernels/ and testapps/ agree with
# tests/data/directions.txt, written by reading their source, and slices are distinguished.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
data=$(dirname "$0")/../data/directions.txt
apps="missing_fence_raw copy_in_pipeline chained_disjoint default_stream_gather offset_slices
	atomic_counter unused_slots programmatic_launch symbol_per_step growing_local_memory
	lazy_kernels_in_loop module_load_in_loop"
for app in $apps; do
	needs "$build/testapps/$app"
done

# A line per kernel: name, evidence, whether complete, then its accesses by parameter offset or name
# of a variable; "?" after one of several words that could not be distinguished.
found() {
	for app in $apps; do
		"$cufence" run --sim -o "$tmp/$app.db" -- "$build/testapps/$app" >"$tmp/$app.out" 2>&1
		"$cufence" query "$tmp/$app.db" "SELECT k.name || ' ' || c.evidence || ' ' ||
			CASE c.complete WHEN 1 THEN 'complete' ELSE c.why END || ':' || ifnull((SELECT
			group_concat(' ' || text, '') FROM (SELECT DISTINCT
			ifnull(v.name, a.offset) || ' ' || direction ||
			CASE sure WHEN 0 THEN '?' ELSE '' END AS text FROM kernel_access a
			LEFT JOIN kernel_variable v ON v.kernel = a.kernel AND v.offset = a.offset
			WHERE a.kernel = k.id AND shape IS NULL ORDER BY a.offset, direction)), '')
			FROM kernel_code c JOIN kernel k ON k.id = c.kernel"
	done | sort -u
}
same "kernels" "$(grep -v '^#' "$data" | sort -u)" "$(found)"

same "every launch has a shape, every shape is known" "" "$(for app in $apps; do
	"$cufence" query "$tmp/$app.db" "SELECT '$app', call.id FROM call JOIN operation o
		ON o.call = call.id LEFT JOIN launch l ON l.call = call.id
		LEFT JOIN shape_code s ON s.shape = l.shape
		WHERE o.kind = 'kernel' AND s.shape IS NULL"
done)"

# Four slices of 16384 floats of one buffer, distinguished by an offset that is a scalar.
same "slices by offset" "0 65536, 65536 131072, 131072 196608, 196608 262144" "$("$cufence" query \
	"$tmp/offset_slices.db" "SELECT group_concat(low || ' ' || high, ', ') FROM (SELECT low, high
	FROM kernel_access WHERE shape IS NOT NULL AND direction = 'store' AND exact ORDER BY low)")"
# One of four pointers of a structure, of which two are meant to be used.
same "unused slots" "8 16" "$("$cufence" query "$tmp/unused_slots.db" \
	"SELECT group_concat(a.offset, ' ') FROM (SELECT DISTINCT offset FROM kernel_access a
	JOIN kernel k ON k.id = a.kernel WHERE k.name = 'combine' AND shape IS NOT NULL
	AND direction = 'load' ORDER BY offset) a")"
finish
