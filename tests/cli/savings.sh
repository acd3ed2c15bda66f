#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/savings.sh BUILD: a predicted saving is what the fixed twin saves.  The simulator's clock
# counts CUDA's own time only, so that the two agree whatever else the machine does.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/lib/libcufence.so"
cd "$tmp" || exit 1

measure() { # NAME: prints the device's time from its first work to its last, ns
	"$cufence" run --sim -o "$1.db" -- "$build/testapps/$1" >/dev/null 2>&1
	"$cufence" query "$1.db" "SELECT max(end) - min(start) FROM operation"
}

# ceiling NAME SAVED [COLUMN]: so much of the ceiling of its loop's turns may be wrong, too.
ceiling() {
	local most error
	most=$("$cufence" query "$1.db" "SELECT r.${3:-ceiling} * l.turns FROM replay r, loop l")
	error=$((${most:-0} - $2))
	[ $((error * error * 2500)) -le $(($2 * $2)) ]
	ok "$1: turns save ${most:-0} ns at most, its twin $2" $?
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
	saved=$((before - after))
}

# A thread goes on when another one has made its last call: what that one waits for delays both.
check needless-wait sync_before_handover
# Waits that had nothing to wait for take the place of those that are left out.
check blocked-outside signal_per_step
ceiling signal_per_step "$saved" ceiling_unread
# A tenth of the run is outside of its loop, and saves nothing.
check blocking-copy symbol_per_step
ceiling symbol_per_step "$saved"
check needless-wait phase_timers
ceiling phase_timers "$saved"
has "... and are named" "also cudaDeviceSynchronize .*phase_timers.cu:38 in start" \
	"$("$cufence" report --level possible --finding 1 phase_timers.db)$("$cufence" report \
		--level possible --finding 2 phase_timers.db)"

# --- a pool that gives memory back makes a wait late, but not longer ---
for name in pool_trim pool_trim_fixed; do
	"$cufence" run --sim -o "$name.db" -- "$build/testapps/$name" >/dev/null 2>&1
done
waited="SELECT sum(waited) / count(*) FROM wait WHERE kind = 'explicit'"
late=$("$cufence" query pool_trim.db "$waited") usual=$("$cufence" query pool_trim_fixed.db "$waited")
[ $((${late:-0} * 20)) -ge $((usual * 19)) ] && [ $((late * 20)) -le $((usual * 21)) ]
ok "pool_trim: a wait takes $late ns, with memory kept $usual" $?

# --- a batch that a script's line copies to the device and waits for: pinned memory is quicker, too ---
if command -v python3 >/dev/null; then
	"$cufence" run --sim -o uploads.db -- python3 "$here/python/uploads.py" >/dev/null 2>&1
	"$cufence" run --sim -o pinned.db -- python3 "$here/python/uploads.py" --pinned >/dev/null 2>&1
	first='SELECT max(end) - min(start) FROM operation'
	before=$("$cufence" query uploads.db "$first") after=$("$cufence" query pinned.db "$first")
	saving=$("$cufence" query uploads.db \
		"SELECT saving FROM finding WHERE rule = 'pageable-async-copy' AND shown")
	error=$((${saving:-0} - (before - after)))
	[ $((error * error * 400)) -le $(((before - after) * (before - after))) ]
	ok "uploads: saves ${saving:-0} ns, from pinned memory $((before - after))" $?
	same "uploads: their rule alone" "pageable-async-copy" \
		"$("$cufence" query uploads.db "SELECT rule FROM finding WHERE shown")"
	same "pinned: no finding" "" "$("$cufence" query pinned.db expect)"
fi

# --- a plan that a library makes in each call: it is kept, not only its waits are gone ---
if command -v python3 >/dev/null; then
	for how in "" --kept --other --larger; do
		"$cufence" run --sim -o "plans$how.db" -- python3 "$here/python/plans.py" $how >/dev/null 2>&1
	done
	first='SELECT max(end) - min(start) FROM operation'
	saving="SELECT saving FROM finding WHERE rule = 'blocking-module' AND shown"
	before=$("$cufence" query plans.db "$first") after=$("$cufence" query plans--kept.db "$first")
	saved=$("$cufence" query plans.db "$saving")
	error=$((${saved:-0} - (before - after)))
	[ $((error * error * 400)) -le $(((before - after) * (before - after))) ]
	ok "plans: saves ${saved:-0} ns, one that is kept $((before - after))" $?
	same "plans: one finding, none if it is kept" "1 0" \
		"$("$cufence" query plans.db "SELECT count(*) FROM finding") $("$cufence" query \
			plans--kept.db "SELECT count(*) FROM finding")"
	# Something else has to be set up: 39 waits of 1 ms are saved, and no set-up.
	for how in other larger; do
		other=$("$cufence" query "plans--$how.db" "$saving")
		[ $((${other:-0} / 1000000)) -eq 39 ]
		ok "plans, each second one $how: saves ${other:-0} ns, the waits" $?
	done
fi

# --- results that a script reads: a read takes another one's place, and may be needed ---
if command -v python3 >/dev/null; then
	"$cufence" run --sim -o reads.db -- python3 "$here/python/reads.py" >/dev/null 2>&1
	"$cufence" run --sim -o unread.db -- python3 "$here/python/reads.py" --unread >/dev/null 2>&1
	first='SELECT max(end) - min(start) FROM operation'
	before=$("$cufence" query reads.db "$first") after=$("$cufence" query unread.db "$first")
	saving=$("$cufence" query reads.db "SELECT saving FROM finding WHERE rule = 'blocking-copy'")
	error=$((${saving:-0} - (before - after)))
	[ $((error * error * 2500)) -le $(((before - after) * (before - after))) ]
	ok "two reads: saves ${saving:-0} ns, without them $((before - after))" $?
	ceiling reads "$((before - after))" ceiling_unread
	same "... none if they are read" "0 1" \
		"$("$cufence" query reads.db "SELECT ceiling, cut IS NULL AND replays > 3 FROM replay" | tr '\t' ' ')"
	has "... which the report says" "ceiling .* would take 4[^w]* if the host waited for no result" \
		"$("$cufence" report reads.db)"
	same "... at most medium" "medium 1 1" \
		"$("$cufence" query reads.db "SELECT severity || ' ' || shown || ' ' || reads FROM finding")"
	has "... the other one is named" "also cuStreamSynchronize .*reads.py:18 in tolist" "$("$cufence" report reads.db)"
	"$cufence" check reads.db >/dev/null 2>&1
	same "check accepts them" 0 $?
	"$cufence" check --fail-on medium reads.db >/dev/null 2>&1
	same "... unless it is told not to" 1 $?
	python3 - <<-'END'
		import sqlite3
		with sqlite3.connect("reads.db") as db:
		    db.execute("UPDATE finding_place SET saving = NULL WHERE shown")
	END
	has "lines without a replay are said" "what 1 lines? saves? by (itself|themselves) was not computed" \
		"$("$cufence" report reads.db)"
	same "not read: no finding" "" "$("$cufence" query unread.db expect)"
fi

# --- fewer replays than it takes: the finding of the highest bound has one, the other one a bound ---
searched() { # MOST: prints the findings with and without a replay, whether these were too few, and if more
	CUFENCE_TEST_REPLAYS=$1 "$cufence" run --sim -o "most$1.db" -- "$build/testapps/phase_timers" >/dev/null 2>&1
	"$cufence" query "most$1.db" "SELECT (SELECT group_concat(rule || iif(saving_low IS NULL, ' at most', ''), ', ')
		FROM finding) || '; ' || ifnull(cut, 0) || ' ' || (replays <= $1) FROM replay"
}
same "enough replays" "needless-wait, redundant-sync; 0 1" "$(searched 20)"
same "... no note" "" "$("$cufence" report most20.db | grep searched)"
same "too few" "needless-wait, redundant-sync at most; 1 1" "$(searched 12)"
has "... which the report says" \
	"note: savings were searched with [0-9]+ replays, and not to the end: one saving is an upper bound$" \
	"$("$cufence" report most12.db)"
has "... and of the finding" "at most .* would be saved" "$("$cufence" report most12.db)"
finish
