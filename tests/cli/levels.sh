#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/levels.sh BUILD: programs with graphs have the same findings, as often and at the same
# cost, whether graphs are recorded as a whole or node by node.  Costs are compared as the report
# rounds them: node by node a launch begins with its first node, 2 us later than as a whole, which is
# a fifth of what graph_per_step saves a turn.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence" "$build/sim/libcuda.so.1" "$build/testapps/legacy_between_graphs"

findings_at() { # LEVEL PROGRAM: the rule and lines of each finding, how often and what it saves
	"$cufence" run --sim --graphs "$1" -o "$tmp/$1.db" -- "$2" >/dev/null 2>"$tmp/report"
	"$cufence" query "$tmp/$1.db" expect
	[[ $2 != */graph_per_step ]] || return
	grep -E '^    [0-9]+ times?, ' "$tmp/report" | sed 's/, [^;]*;/;/'
	"$cufence" query "$tmp/$1.db" "SELECT process, round(saving / 1e6, 1) FROM replay WHERE saving NOT NULL"
}

# The delay of work on the device, ns: the same for both levels within 3 %.
delay_of() { # LEVEL
	"$cufence" query "$tmp/$1.db" "SELECT ifnull(sum(held), 0) FROM hold"
}

for source in $(grep -l cudaGraphLaunch "$(dirname "$0")"/../../testapps/*.cu); do
	name=$(basename "$source" .cu)
	for program in "$build/testapps/$name" "$build/testapps/${name}_fixed"; do
		[ -x "$program" ] || continue
		same "$(basename "$program"): findings" "$(findings_at graph "$program")" \
			"$(findings_at node "$program")"
		awk -v a="$(delay_of graph)" -v b="$(delay_of node)" \
			'BEGIN { exit !(a - b <= 0.03 * a && b - a <= 0.03 * a) }'
		ok "$(basename "$program"): delays" $?
	done
done
findings_at node "$build/testapps/legacy_between_graphs" >"$tmp/found"
has "a graph recorded node by node is one unit" '^    39 times' "$(cat "$tmp/found")"
has "its nodes are in table operation" '^140$' "$("$cufence" query "$tmp/node.db" \
	"SELECT count(*) FROM operation WHERE call IN (SELECT id FROM call WHERE type IN
	(SELECT id FROM call_type WHERE kind = 'graph_launch'))")"
finish
