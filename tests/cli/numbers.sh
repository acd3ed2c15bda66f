#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every number of a finding in a text report is the one in the JSON report, and "check" prints the
# same: for the golden traces, and for apps whose findings have several places or hide each other.
# The shares of a finding's places add up.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/tests/helpers/at_once"
command -v python3 >/dev/null || { echo "not run: no python3"; finish; }
cd "$tmp" || exit 1

compare() { # NAME
	{
		line "$1.text" report --level possible --top 0 "$1.db"
		line "$1.json" report --level possible --format json "$1.db"
		line "$1.check" check --allow-incomplete --fail-on low "$1.db"
	} | "$build/tests/helpers/at_once" "$1.db" >statuses 2>err
	for number in $(grep -o '#[0-9]*$' "$1.text" | tr -d '#'); do
		line "$1.$number" report --level possible --finding "$number" "$1.db"
	done | "$build/tests/helpers/at_once" "$1.db" >>statuses 2>>err
	same "$1: all are written" "" "$(sed 3d statuses | grep -v '^0$')"
	python3 "$root/tests/helpers/numbers.py" "$1" 2>&1
	ok "$1: text, JSON and check have the same numbers" $?
}

for report in "$golden"/*.report; do
	grep -q '#1$' "$report" || continue
	name=$(basename "$report" .report)
	golden_text "$name" | "$cufence" undump - -o "$name.cft" && "$cufence" load "$name.cft" -o "$name.db" 2>/dev/null
	compare "$name"
done
for name in repeated_sync uploads_per_step scratch_per_step launches_behind_free two_device_syncs \
	lazy_kernels_in_loop late_events_in_row; do
	[ -x "$build/testapps/$name" ] && [ -e "$build/sim/libcuda.so.1" ] || continue
	"$cufence" run --sim -o "$name.db" -- "$build/testapps/$name" >/dev/null 2>"$name.run" ||
		{ echo "$name: exit status $?"; cat "$name.run"; }
	compare "$name"
done

# --- loops that are bound by their submissions, with something else to fix and without ---
has "the host is late" 'the host needs .* to submit .* of work: use fewer' "$("$cufence" report graph_per_step.db)"
has "and nothing else" 'of work, not because of waits: use fewer' "$("$cufence" report tiny_kernels.db)"

# --- of a finding with two places one is known: the other one is judged by its part ---
if [ -e repeated_sync.db ]; then
	"$cufence" query repeated_sync.db "SELECT fingerprint FROM finding_place WHERE id = 1" | tail -n 1 >known
	got=$("$cufence" check --baseline known repeated_sync.db)
	same "a new place fails" 1 $?
	has "as a medium finding of its own" ':22: redundant-sync #[0-9]+ in [^:]*: .*, at 2 places, 1 of them new \[medium\]$' "$got"
	"$cufence" check --fail-on high --baseline known repeated_sync.db >/dev/null
	same "which is not a high one" 0 $?
	"$cufence" query repeated_sync.db fingerprints >known
	"$cufence" check --baseline known repeated_sync.db >/dev/null
	same "known places do not" 0 $?
fi
finish
