#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/savings.sh BUILD: a predicted saving is what the fixed twin saves.  The simulator's clock
# counts CUDA's own time only, so that the two agree whatever else the machine does.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence" "$build/lib/libcufence.so"
cd "$tmp" || exit 1

measure() { # NAME: prints the device's time from its first work to its last, ns
	"$cufence" run --sim -o "$1.db" -- "$build/testapps/$1" >/dev/null 2>&1
	"$cufence" query "$1.db" "SELECT max(end) - min(start) FROM operation"
}

# Of the rule's saving at most 2 % may be wrong.
check() { # RULE NAME
	local before after saving error
	before=$(measure "$2")
	after=$(measure "$2_fixed")
	saving=$("$cufence" query "$2.db" "SELECT saving FROM finding WHERE rule = '$1'")
	error=$((${saving:-0} - (before - after)))
	[ $((error * error * 2500)) -le $(((before - after) * (before - after))) ]
	ok "$2: $1 saves ${saving:-0} ns, its twin $((before - after))" $?
}

# A thread goes on when another one has made its last call: what that one waits for delays both.
check needless-wait sync_before_handover
# Waits that had nothing to wait for take the place of those that are left out.
check needless-wait phase_timers
has "... and are named" "also cudaDeviceSynchronize .*phase_timers.cu:38 in start" \
	"$("$cufence" report --level possible --finding 1 phase_timers.db)$("$cufence" report \
		--level possible --finding 2 phase_timers.db)"
finish
