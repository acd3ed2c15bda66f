#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the options of "report" and "run" for a report: its file, its length, its colors.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence app=$build/testapps/free_in_loop
needs "$cufence" "$app" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1
unset NO_COLOR

# run OPTION...: traces the app; its status, stderr in err
run() { "$cufence" run --sim "$@" -- "$app" >out 2>err; }

run
ok "run" $?
has "run reports on stderr" '^blocking-free: ' "$(cat err)"
has "and says what is hidden" '^1 hidden: only possible: cufence report --all cufence.db$' "$(cat err)"
same "nothing hidden is shown" 0 "$(grep -c '^accidental-order' err)"
run --all
has "run --all shows what is hidden" '^accidental-order: .*possible, low' "$(cat err)"
same "and has nothing more to name" 0 "$(grep -c hidden err)"
run --level certain --top 1
has "run --level and --top" '^1 hidden: .* report --all ' "$(cat err)"
run --quiet
same "run --quiet says nothing" "" "$(cat err)"
"$cufence" report >report
has "its database has the report" '^blocking-free: ' "$(cat report)"
run --quiet --report report.json
same "run --quiet --report says nothing" "" "$(cat err)"
same "the file's ending is the format" '{"tool":"cufence"' "$(head -c 17 report.json)"
run --report page.html
has "run --report says what it wrote" '^cufence: wrote page.html$' "$(cat err)"
same "and writes no report to stderr" 0 "$(grep -c '^blocking-free' err)"
has "a page" '^<!DOCTYPE html>' "$(head -n 1 page.html)"
run --report report.json --format text
has "--format says more than the ending" '^cufence: ' "$(head -n 1 report.json)"
"$cufence" report -o again.html
has "report -o goes by the ending, too" '^<!DOCTYPE html>' "$(head -n 1 again.html)"

rm cufence.db
refused() { # TEXT MESSAGE OPTION...
	local text=$1 message=$2
	shift 2
	run "$@"
	same "$text" 125 "$?"
	has "$text: says so" "$message" "$(cat err)"
	[ ! -e cufence.db ]
	ok "$text: before the program runs" $?
}
refused "JSON among the program's messages" 'needs a file: add --report FILE' --format json
refused "a report where no file can be" "cannot write 'none/report'" --report none/report
refused "run with a bad level" "not 'sure'" --level sure
refused "all and a level" 'leave out --level' --all --level certain
refused "run with a bad color" "auto, always or never" --color blue

run --quiet
escapes() { grep -c $'\033' "$1"; }
"$cufence" report >plain
same "no colors in a file" 0 "$(escapes plain)"
"$cufence" report --color always >colored
same "--color always: the finding's line" 1 "$(escapes colored)"
same "colors change no text" "$(cat plain)" "$(sed $'s/\033\\[[0-9]*m//g' colored)"
NO_COLOR=1 "$cufence" report --color always >colored
same "--color always is asked for: NO_COLOR is not" 1 "$(escapes colored)"
if command -v script >/dev/null; then
	terminal() { TERM=xterm script -qec "$*" /dev/null </dev/null; }
	terminal "$cufence report" >colored
	[ "$(escapes colored)" -ge 1 ]
	ok "colors on a terminal" $?
	terminal "$cufence report --color never" >colored
	same "--color never" 0 "$(escapes colored)"
	terminal "NO_COLOR=1 $cufence report" >colored
	same "NO_COLOR" 0 "$(escapes colored)"
else
	echo "skipped: no script: colors on a terminal"
fi

"$cufence" report --finding '#1' >finding
has "--finding takes what a report prints" '^blocking-free: .* #1$' "$(cat finding)"
has "its timeline has a legend" '^      legend: ' "$(cat finding)"
finish
