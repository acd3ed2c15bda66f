#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A long run: samples of its loop give the findings, the savings and the ceiling of the whole, and the
# report says so; what a replay takes does not grow with the turns; arrays may be files.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence" "$build/bench/make_turns"
cd "$tmp" || exit 1
query() { "$cufence" query "$1.db" "$2"; }
load() { # NAME TRACE: loads it, and prints the most memory that took, KiB
	python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$cufence" load "$2" -o "$1.db" 2>err
}
near() { # TEXT PERCENT WANTED GOT
	awk -v w="$3" -v g="$4" -v p="$2" 'BEGIN { exit !(w > 0 && g > w * (1 - p / 100) && g < w * (1 + p / 100)) }'
	ok "$1: wanted $3, got $4" $?
}

"$build/bench/make_turns" 50000 few.cft && "$build/bench/make_turns" 200000 many.cft
ok "set-up" $?
few=$(load few few.cft) && many=$(load many many.cft)
ok "all of it: status" $?
same "... the whole is replayed" "1|1" "$(query many "SELECT turns IS NULL, samples IS NULL FROM replay" | tr '\t' '|')"
same "... and not noted" "" "$("$cufence" report many.db | grep 'note: savings are')"

# Arrays by call that are files, as those of a hundred million calls.
CUFENCE_TEST_LARGE_BYTES=4096 load files few.cft >/dev/null
cmp few.db files.db
ok "arrays in files: the same database" $?
CUFENCE_TEST_LARGE_BYTES=4096 TMPDIR=$tmp/none load none few.cft >/dev/null
same "no folder for files: status" 2 $?
has "... and which one" "no scratch space in '$tmp/none'" "$(cat err)"

export CUFENCE_TEST_REPLAY_STEPS=40000
sampled_few=$(load sampled_few few.cft) && sampled=$(load sampled many.cft)
ok "samples: status" $?
same "samples: of the loop" 1 "$(query sampled "SELECT r.samples = 20 AND r.turns % 20 = 0
	AND r.turns BETWEEN 100 AND 160 AND r.refusal IS NULL FROM replay r")"
has "... which the report says" "note: savings are of 1[0-9]0 of 3125 turns, in 20 samples spread" \
	"$("$cufence" report sampled.db)"
for sql in "SELECT rule, count, waited, delayed, confidence FROM finding ORDER BY id" \
	"SELECT count(*), sum(waited) FROM wait" "SELECT count(*) FROM hazard" \
	"SELECT turns FROM loop"; do
	same "as in the whole: $sql" "$(query many "$sql")" "$(query sampled "$sql")"
done
for value in "saving FROM finding WHERE rule = 'blocking-free'" "saving FROM replay" \
	"turn_saving FROM replay" "ceiling FROM replay" "ceiling_unread FROM replay"; do
	near "$value" 5 "$(query many "SELECT $value")" "$(query sampled "SELECT $value")"
done
saving=$(query many "SELECT saving FROM replay")
same "the interval has the whole's saving" 1 \
	"$(query sampled "SELECT saving_low <= $saving AND saving_high >= $saving FROM replay")"

# Too few steps for a few turns in samples, and no loop to sample.
CUFENCE_TEST_REPLAY_STEPS=300 load least few.cft >/dev/null
same "too few steps for three turns" "the run is too long to be replayed" \
	"$(query least "SELECT refusal FROM replay")"

sanitized && finish # the sanitizer's own memory grows
each=$(((many - few) * 1024 / 150000)) with_samples=$(((sampled - sampled_few) * 1024 / 150000))
[ "$with_samples" -lt $((each * 2 / 3)) ] && [ "$with_samples" -lt 350 ]
ok "bytes a call: $each, with samples $with_samples" $?
finish
