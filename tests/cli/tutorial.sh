#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/TUTORIAL.md: its programs run on the simulated device, and each report contains the page's excerpt.
. "$(dirname "$0")/lib.sh" "$@"
needs "$build/tutorial/photos1" "$build/sim/libcuda.so.1"
page=$(cd "$(dirname "$0")/../.." && pwd)/doc/TUTORIAL.md

for step in 1 2 3 4 5; do
	report=$(cd "$tmp" && "$build/bin/cufence" run --sim -- "$build/tutorial/photos$step" 2>&1)
	ok "photos$step runs" $?
	lines=$(awk -v at="/photos$step\$" '/^    \$/ { inside = $0 ~ at; next } !/^    / { inside = 0 } inside' "$page")
	[ -n "$lines" ]
	ok "photos$step is on the page" $?
	while IFS= read -r line; do
		grep -qF -- "${line#    }" <<<"$report"
		ok "photos$step: $line" $?
	done <<<"$lines"
	"$build/bin/cufence" check "$tmp/cufence.db" >/dev/null 2>&1
	status=$?
	same "photos$step: check" "$([ "$step" = 3 ] || [ "$step" = 5 ] && echo 0 || echo 1)" $status
done
finish
