#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run whose work failed is not a clean one: the report says so first, and a check cannot judge it.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence helper=$build/tests/helpers/failed_work
needs "$cufence" "$helper" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1

run() { # NAME STATUS PATTERN FAILED DONE
	"$cufence" run --sim -o "$tmp/db" -- "$helper" "$4" "$5" >/dev/null 2>&1
	same "$1: exit status" 0 $?
	same "$1: check" "$2" "$("$cufence" check "$tmp/db" >/dev/null 2>err; echo $?)"
	same "$1: check of an incomplete trace" "$2" \
		"$("$cufence" check --allow-incomplete "$tmp/db" >/dev/null 2>&1; echo $?)"
	"$cufence" report "$tmp/db" >report
	has "$1: the report's second line" "$3" "$(sed -n 2p report)"
}

run "all fails" 2 'failed: +9 calls that submit work failed, more than half' 9 0
has "all fails: check says it" "the run failed" "$(cat err)"
has "all fails: the last words" "no findings, but the run failed" "$(cat report)"
run "most fails" 2 'failed: +9 calls that submit work failed' 9 8
run "half fails" 0 '^ +run ' 8 8
run "nothing fails" 0 '^ +run ' 0 8

# What the device did is missing from the trace, though CUPTI was there to record it.
"$cufence" run --sim --keep-trace -o "$tmp/whole" -- "$helper" 0 8 >/dev/null 2>&1
traces=("$tmp"/whole.traces-*/*.cft)
"$cufence" dump "${traces[0]}" | grep -v '^device ' >text
sed -E '1s/ (written|copied)=[0-9]+//g' text | "$cufence" undump - -o nothing.cft
ok "undump" $?
"$cufence" load nothing.cft -o nothing.db >/dev/null 2>&1
has "nothing ran" 'failed: +[0-9]+ calls submitted work, and no operation of the device ran' \
	"$("$cufence" report nothing.db | sed -n '1,2p')"
same "nothing ran: check" 2 "$("$cufence" check --allow-incomplete nothing.db >/dev/null 2>&1; echo $?)"
finish
