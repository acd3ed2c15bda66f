#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence merge" replays all ranks together: what a fix saves them, in all ranks and in one, against the
# time of the program that has it.  On the simulated device ranks meet in their collectives.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
app=$build/testapps/nccl_steps
needs "$build/sim/libcuda.so.1" "$app"
cd "$tmp" || exit 1
unset RANK LOCAL_RANK WORLD_SIZE SLURM_PROCID SLURM_LOCALID SLURM_STEP_NUM_TASKS

# Ranks of which those that WAITS names wait for the device, though nothing needs that.
ranks() { # NAME WAITS COUNT
	mkdir "$1"
	for ((r = 0; r < $3; r++)); do
		RANK=$r LOCAL_RANK=$r WORLD_SIZE=$3 WAITS=$2 NCCL_TEST_NS=60000 NCCL_TEST_MEET=$1/meet timeout 120 "$cufence" run \
			--sim --quiet -o "$1/$r.db" -- "$app" >"$1/$r.out" 2>>err &
	done
	wait
	merge "$1" "$1"/[0-9].db
}
merge() { # NAME DATABASE...
	local name=$1
	shift
	"$cufence" merge "$name.db" "$@" >"$name.text" 2>>err
	same "$name: the exit status" 0 $?
}
one() { # DATABASE SQL
	"$cufence" query "$1" "$2" | tr '\t' ' '
}
turn() { # NAME: ns
	one "$1.db" "SELECT min(t.time / m.turns) FROM member_time t JOIN member m ON m.id = t.member WHERE what = 'turn'"
}
saves() { # NAME: in all ranks, in the worst; ns
	one "$1.db" "SELECT ifnull(saving, -1), ifnull(saving_worst, -1) FROM merged_finding"
}
holds() { # NAME SAVED: the interval has it
	ok "$1: $2 ns are in the interval" \
		$((! $(one "$1.db" "SELECT count(*) FROM merged_finding WHERE $2 BETWEEN saving_low AND saving_high")))
}
near() { # TEXT WANTED GOT: within 10 %
	ok "$1: $3 for $2 ns" $((10 * ($2 > $3 ? $2 - $3 : $3 - $2) > $2))
}

ranks none none 2
ranks one 1 2
ranks all all 2
same "ranks: nothing is said" "" "$(cat err)"
same "the output of a rank is what it is untraced" "$(RANK=0 WORLD_SIZE=1 WAITS=none LD_LIBRARY_PATH=$build/sim "$app")" "$(cat one/0.out)"
fixed=$(turn none) saved=$(($(turn one) - $(turn none)))
ok "the wait costs 5 % of a turn: $saved of $fixed ns" $((saved * 20 < fixed))
read -r every worst <<<"$(saves one)"
near "a wait in one rank" $saved "$every"
holds one $saved
same "which is all ranks that have it" "$every" "$worst"
read -r every worst <<<"$(saves all)"
near "a wait in all ranks" $(($(turn all) - fixed)) "$every"
holds all $(($(turn all) - fixed))
same "left out in one of them, the others still come late" 0 "$worst"
has "the report says so" ' rank 0 +[0-9.]+ us \([0-9.]+ us to [0-9.]+ us\), 0 ns +steps\.cu:[0-9]+ wait_for_forward: broad-sync' "$(cat all.text)"
has "and what all save together" '^all of them, fixed in all ranks, save about [0-9]+ us \([0-9]+ us to [0-9]+ us\) of each turn \(1[0-9] %\)$' "$(cat all.text)"
same "as many collectives as there are" 120 "$(one all.db 'SELECT meetings FROM merged_replay')"
"$cufence" report --format json all.db >json
if command -v python3 >/dev/null; then
	same "and as JSON" "$every 0 120" "$(python3 -c 'import json
all = json.load(open("json"))
print(all["findings"][0]["saving_ns"], all["findings"][0]["saving_worst_ns"], all["replay"]["meetings"])')"
fi

# A rank alone does not know when the others come.
has "a rank's own report has a bound" '; at most [0-9.]+ ms would be saved, [0-9]+ us or 1[0-9] %' "$("$cufence" report one/1.db)"
has "and says why" '^no closer estimate .*: other ranks may come no earlier .* cufence merge replays all of them together$' \
	"$("$cufence" report one/1.db)"
ok "the bound is one" $(($(one one/1.db 'SELECT turn_saving FROM finding') < saved * 9 / 10))

# More ranks, of which one is late.
ranks four 2 4
ranks quick none 4
read -r every worst <<<"$(saves four)"
near "one of four" $(($(turn four) - $(turn quick))) "$every"

# --- sources are read in processes of their own ---
"$cufence" merge none.db.again none/[01].db >again
same "read again, the same" "$(sed 's/none.db/X/' none.text)" "$(sed 's/none.db.again/X/' again)"
touch left.db.tmp-4999999.0 left.db.tmp-4999999.1 # of one that was killed
merge left none/[01].db
same "no part is left" "left.db" "$(ls left.db*)"
echo nothing >empty.db
"$cufence" merge new.db none/0.db empty.db none/1.db 2>said >/dev/null
same "one that cannot be read: the exit status" 2 $?
has "and a message" "'empty.db'" "$(cat said)"
same "with nothing left" "" "$(ls new.db* 2>/dev/null)"

# --- not all ranks are there ---
merge part four/0.db four/2.db
near "without two of them that were in time" $(($(turn four) - $(turn quick))) "$(saves part | cut -d' ' -f1)"
merge alone four/2.db
has "one rank alone" 'what fixes save all ranks is unknown: the ranks have no collectives in common' "$(cat alone.text)"
# Only the first turns are kept of long runs, and of one rank less than of another.
for r in 0 1; do
	CUFENCE_TEST_JOINT_STEPS=$((3000 + 2000 * r)) "$cufence" analyze one/$r.db
done
merge short one/[01].db
near "the first turns" $saved "$(saves short | cut -d' ' -f1)"
ok "fewer collectives" $(($(one short.db 'SELECT meetings FROM merged_replay') > 60))
if command -v sqlite3 >/dev/null; then
	cp one/1.db damaged.db
	sqlite3 damaged.db "UPDATE rank_replay SET data = substr(data, 1, length(data) / 2)"
	merge broken one/0.db damaged.db
	has "a damaged replay" 'unknown: the replay of a rank is damaged' "$(cat broken.text)"
	cp one/1.db missing.db
	sqlite3 missing.db "DELETE FROM rank_replay"
	merge missed one/0.db missing.db
	has "a rank without one" 'unknown: a rank cannot be replayed, as its own report says' "$(cat missed.text)"
	cp one/1.db odd.db
	sqlite3 odd.db "UPDATE rank_change SET data = x'00'"
	merge strange one/0.db odd.db
	same "damaged changes: no saving" "-1 -1" "$(saves strange)"
fi
finish
