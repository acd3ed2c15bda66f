#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CUPTI takes long to open: the program goes on meanwhile, unrecorded, and the window that was asked
# for opens after that, whole; what else may come meanwhile is a stop, or the program's end.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/tests/helpers/server" "$build/tests/helpers/libcupti_late.so"
cd "$tmp" || exit 1
. "$here/serve.sh"
shop=late$$ # tests of others run beside this one
export CUFENCE_CUPTI=$build/tests/helpers/libcupti_late.so CUPTI_LATE=$tmp/late

state() { "$cufence" ps -s $shop 2>/dev/null | awk 'NR == 2 { print $2, $3 }'; }
detached() { "$cufence" dump run.db.traces-*/*.cft 2>/dev/null | head -n 1 | grep -o ' detached=[0-9]*'; }
until_turns() { # TEXT COMMAND...: requests until it is so
	local text=$1 until=$((SECONDS + 60))
	shift
	while ((SECONDS < until)); do
		! "$@" || return 0
		turns 20
	done
	ok "$text: it comes" 1
}
is_state() { [ "$(state)" = "$1" ]; }
has_windows() { [ "$(state | cut -d ' ' -f 2)" -ge "$1" ]; }
is_detached() { [ "$(detached)" = " detached=$1" ]; }
opening() { # TEXT OPTION...: a server, with CUPTI being opened
	local text=$1
	shift
	rm -f late late.begun
	serve_run --session $shop "$@" -o run.db
	turns 20
	[[ $* == *--sample* ]] || { "$cufence" start -s $shop >said 2>&1 & }
	until_turns "$text" test -e late.begun
	turns 200
	same "$text: the program goes on, unrecorded" "paused 0" "$(state)"
}
ended() { # TEXT
	leave "$1"
	wait "${started[-1]}"
	same "$1: status" 0 $?
}
whole() { # TEXT: what the windows have
	same "$1: every operation has its call" "" "$("$cufence" query run.db unmatched)"
	same "$1: every launch has its operation" "1 0" "$(query run.db "SELECT (count(*) > 40) || ' ' ||
		sum(o.id IS NULL) FROM call c JOIN call_type t ON t.id = c.type LEFT JOIN operation o
		ON o.call = c.id WHERE t.kind = 'launch'")"
}

opening "start" --paused
: >late
until_turns "start" is_state "recording 1"
turns 50
ended "start"
whole "start"
same "start: one window" 1 "$(query run.db "SELECT sum(work) FROM recording")"

opening "stop" --paused
"$cufence" stop -s $shop >said 2>&1 # in vain as long as CUPTI is not open
: >late
until_turns "stop: CUPTI is closed again" is_detached 1
same "stop: no window" "paused 0" "$(state)"
"$cufence" start -s $shop >said 2>&1 &
until_turns "stop: the next one" is_state "recording 1"
turns 50
ended "stop"
whole "stop"

opening "end" --paused
ended "end"
same "end: it was never recorded" 0 "$(query run.db "SELECT count(*) FROM operation")"

opening "sample" --sample=0.2
: >late
until_turns "sample" has_windows 3
ended "sample"
whole "sample"
# Opening it is part of a sample, up to half: so much of that as the simulated clock ran on.
same "the sample is 50 ms with the opening of CUPTI" 1 "$(query run.db "SELECT end - start BETWEEN 24900000 AND 50200000
	FROM recording WHERE work ORDER BY start LIMIT 1")"
finish
