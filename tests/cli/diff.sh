#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the comparison of runs: of golden traces, with altered numbers where sqlite3 is installed,
# and of test apps on the simulated device.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1

load() { # NAME: a golden trace
	golden_text "$1" | "$cufence" undump - -o "$1.cft" && "$cufence" load "$1.cft" -o "$1.db" 2>err
	ok "$1: is loaded" $?
}

differ() { # TEXT STATUS OPERAND...
	local text=$1 status=$2
	shift 2
	"$cufence" diff "$@" >out 2>err
	same "$text" "$status" $?
}

states() { # OPERAND...: names of totals with their state, then of findings
	"$cufence" diff --format json "$@" | grep -oE '"name":"[a-z ]*","unit":"[a-z]*","state":"[a-z]*"|"state":"[a-z]*","rule":"[a-z-]*"' |
		sed -E 's/"(name|unit|state|rule)"://g; s/"//g; s/,(ns|count|bytes),/ /; s/,/ /'
}

# --- two runs ---
load free_in_loop
load double_buffer
differ "a run and itself" 0 free_in_loop.db free_in_loop.db
same "nothing changed" "6 1" \
	"$(grep -cE '^(run|turns|turn|device busy|waits|memory peak) .*  none$' out) $(grep -cE '^no finding changed; [1-9][0-9]* places? of findings as before$' out)"
same "and it is the same program" 0 "$(grep -c '^not the same' out)"
has "the most memory at once" '^memory peak  *3\.88 MiB  *3\.88 MiB ' "$(cat out)"
differ "a new finding is worse" 1 double_buffer.db free_in_loop.db
has "with its cost, of a run, as the loops differ" \
	'^new  *-  *[0-9.]+ ms  run  *testapps/free_in_loop.cu:22 free_scratch: blocking-free: ' "$(cat out)"
has "two programs" "^not the same executable: 'double_buffer' before, 'free_in_loop' after$" "$(cat out)"
has "with two loops" "^not the same loop: 'double_buffer.cu:[0-9]*' before, 'free_in_loop.cu:[0-9]*' after$" "$(cat out)"
same "whose turns are not compared" 2 "$(grep -cE '^turns? .*  another loop$' out)"
has "totals come first" '^ *before  *after  change$' "$(sed -n 3p out)"
differ "one that went is not" 0 free_in_loop.db double_buffer.db
has "and is said" '^gone  *[0-9.]+ ms  *-  run  *testapps/free_in_loop.cu:22 free_scratch: blocking-free: ' "$(cat out)"
has "as JSON" '"worse":1,"changes":\[\{"state":"new","rule":"blocking-free".*"per":"run","before_ns":null,"after_ns":[0-9]' \
	"$("$cufence" diff --format json double_buffer.db free_in_loop.db)"
has "which names the programs" '"not_the_same":\[\{"what":"executable","before":\["double_buffer"\],"after":\["free_in_loop"\]\}' \
	"$("$cufence" diff --format json double_buffer.db free_in_loop.db)"
golden_text free_in_loop | sed '/"command"/s/\(value="\).*"/\1\/elsewhere\/free_in_loop --secret 5"/' | "$cufence" undump - -o args.cft &&
	"$cufence" load args.cft -o args.db 2>err
differ "other arguments" 0 free_in_loop.db args.db
same "are all that is said" "not the same arguments: none before, '--secret 5' after" "$(grep '^not the same' out)"
same "without them where they may leak" '"not_the_same":[{"what":"arguments","before":[],"after":[]}]' \
	"$("$cufence" diff --format json free_in_loop.db args.db | grep -o '"not_the_same":[^]]*\],"after":\[\]}\]')"

# --- operands ---
differ "a database that is not there" 2 free_in_loop.db none.db
differ "three without --" 2 free_in_loop.db free_in_loop.db double_buffer.db
has "need it" 'put -- between the runs before the change and those after it' "$(cat err)"
differ "nothing after --" 2 free_in_loop.db free_in_loop.db --
has "is nothing to compare" 'no run after the --' "$(cat err)"
differ "two after a first -- are as without" 0 -- free_in_loop.db free_in_loop.db

# --- several runs ---
a=free_in_loop.db b=double_buffer.db
differ "several runs" 0 $a $a -- $a $a $a
has "are counted" '^2 runs before, 3 after: medians \(least\.\.most\)$' "$(cat out)"
differ "a finding of some runs" 0 $b $b $b -- $a $b $a
has "is within their spread" '^no finding changed; 0 places of findings as before, 1 within the spread of the runs$' "$(cat out)"
has "as are the totals" '^run .*  within the spread of the runs$' "$(cat out)"
has "and the programs of a side are named" "^not the same executable: 'double_buffer' before, 'double_buffer', 'free_in_loop' after$" "$(cat out)"
differ "one of all runs" 1 $b $b -- $a $a $a
same "is new" "new blocking-free" "$(states $b $b -- $a $a $a | grep blocking-free)"

# --- altered numbers ---
alter() { # NAME PERCENT: a run that takes so much, and whose finding costs so much
	cp free_in_loop.db "$1.db"
	sqlite3 "$1.db" "UPDATE process SET end = start + (end - start) * $2 / 100;
		UPDATE finding SET turn_saving = turn_saving * $2 / 100"
}
if command -v sqlite3 >/dev/null; then
	alter edited 100
	sqlite3 edited.db "UPDATE loop SET place = 'free_in_loop.cu:99'"
	differ "a loop whose first line moved" 0 $a edited.db
	same "is the same loop" 0 "$(grep -c '^not the same' out)"
	for waited in 100000 300000; do
		alter $waited 100
		sqlite3 $waited.db "UPDATE wait_use SET waited = $waited"
	done
	differ "small numbers that triple" 0 100000.db 300000.db
	has "are nothing of the loop" '^waits  *[0-9]00 us  *[0-9]00 us  below 1 % of the loop or run$' "$(cat out)"
	for percent in 104 105 109 115 118 130; do alter $percent $percent; done
	differ "what costs more is worse" 1 $a 130.db
	has "with both costs" '^worse  *[0-9.]+ ms  *[0-9.]+ ms  turn ' "$(cat out)"
	has "and the run's time" '^run .*  \+30 %$' "$(cat out)"
	differ "and better the other way" 0 130.db $a
	has "which is said" '^better ' "$(cat out)"
	same "one run: less than 10 % is nothing" "run same,same blocking-free" \
		"$(states $a 109.db | grep -e ^run -e blocking | paste -sd,)"
	has "and says so" '^run .*  below 10 %$' "$(cat <("$cufence" diff $a 109.db))"
	same "three runs measure the noise, so it is" "run more,worse blocking-free" \
		"$(states $a $a $a -- 109.db 109.db 109.db | grep -e ^run -e blocking | paste -sd,)"
	same "two do not" "run same,same blocking-free" \
		"$(states $a $a $a -- 109.db 109.db | grep -e ^run -e blocking | paste -sd,)"
	same "a spread is wider than that" "run spread,spread blocking-free" \
		"$(states $a 104.db 105.db -- 109.db 115.db 118.db | grep -e ^run -e blocking | paste -sd,)"
	same "in both directions" "run spread,spread blocking-free" \
		"$(states 109.db 115.db 118.db -- $a 104.db 105.db | grep -e ^run -e blocking | paste -sd,)"
	same "but not wider than this" "run more,worse blocking-free" \
		"$(states $a 104.db 105.db -- 115.db 118.db 118.db | grep -e ^run -e blocking | paste -sd,)"
	differ "the table" 1 $a 104.db 105.db -- 115.db 118.db 118.db
	has "has medians and spread" '^run  *[0-9.]+ ms \([0-9.]+ ms\.\.[0-9.]+ ms\)  *[0-9.]+ ms \([0-9.]+ ms\.\.[0-9.]+ ms\)  \+13 %$' "$(cat out)"
fi

# --- an app and its fix ---
apps=$build/testapps
if [ -e "$apps/free_in_loop" ]; then
	for i in 1 2 3; do
		for app in free_in_loop free_in_loop_fixed; do
			"$cufence" run --sim --quiet -o "$app$i.db" -- "$apps/$app" >/dev/null 2>err
			ok "$app: run $i" $?
		done
		"$cufence" run --sim --quiet -o "again$i.db" -- "$apps/free_in_loop" >/dev/null 2>err
	done
	differ "an app and its fix" 0 free_in_loop[123].db -- free_in_loop_fixed[123].db
	same "are faster in all" "run less,turns same,turn less,device busy less,waits less,gone blocking-free" \
		"$(states free_in_loop[123].db -- free_in_loop_fixed[123].db | grep -v ^memory | paste -sd,)"
	same "as one loop" 0 "$(grep -c '^not the same loop' out)"
	differ "and back" 1 free_in_loop_fixed[123].db -- free_in_loop[123].db
	has "it is new, of a turn" '^new  *-  *[0-9.]+ ms.*  turn  ' "$(cat out)"
	differ "an app twice" 0 free_in_loop[123].db -- again[123].db
	same "has no change" 0 "$(states free_in_loop[123].db -- again[123].db | grep -cE ' (more|less)$|^(new|gone|worse|better) ')"
fi
finish
