#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/foreign.sh BUILD: what bench/foreign makes of numbers, and its driver on two pairs for the
# simulated device, which report made-up times.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh" "$@"
bench=$here/../../bench/foreign
export PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || { echo "no python3"; finish; }

# --- numbers ---
counted() { # PYTHON: prints what it prints, with the functions of verdict.py
	PYTHONPATH=$bench python3 -c "from verdict import *
def pair(name, saved, saving=100.0, shown=(1, 1, 1), sums=(5.0, 5.0), silent=((), ())):
    return verdict({'name': name, 'both': [[1000, us] for us in saved], 'checksums': sums, 'silent': silent,
        'traced': [{'shown': bool(one), 'saving': saving, 'low': 0.9 * saving, 'high': 1.1 * saving,
                    'together': saving} for one in shown]})
saved = [101, 97, 100, 103, 100, 99]
$1" 2>&1
}
same "the interval of a median: the table's numbers" "None 0 0 1 5" \
	"$(counted 'print(*(outermost(n) for n in (5, 6, 8, 9, 20)))')"
same "the truth: a median, and its interval" "100.0 97 103" "$(counted 'print(*truth(saved))')"
same "... one process of many that took long does not move it" "100 99 101" \
	"$(counted 'print(*truth([99, 101, 99, 101, 100, 100, 100, 100, 5000]))')"
same "... of too few processes nothing is known" "100 -inf inf" "$(counted 'print(*truth(saved[:5]))')"
same "an error is a part of the turn" "True 0.02 False" "$(counted \
	'row = pair("a", saved, 80.0); print(row["shown"], row["error"], row["holds"])')"
same "... and the interval may hold" "True" "$(counted 'print(pair("a", saved, 95.0)["holds"])')"
same "what most runs do not show predicts nothing" "False 0.0" "$(counted \
	'row = pair("a", saved, shown=(1, 0, 0)); print(row["shown"], row["saving"])')"
same "one run that does not show it is outvoted" "True 100.0" "$(counted \
	'row = pair("a", saved, shown=(1, 0, 1)); print(row["shown"], row["saving"])')"
same "not scored" "the checksums differ|truth under 5% of a turn|interval over a third of the truth|not traced|None" \
	"$(counted 'wide = [120, 80, 110, 100, 90, 100]
print(pair("a", saved, sums=(5.0, 6.0))["why"], pair("a", [1] * 6)["why"],
    pair("a", wide)["why"], pair("a", saved, shown=())["why"], pair("a", saved)["why"], sep="|")')"
same "bars: all met" "True True True True True" "$(counted 'print(*(met for _, met in bars(
    [pair(f"p{n}", saved) for n in range(10)])))')"
same "... each missed" "False False False False False" "$(counted 'print(*(met for _, met in bars(
    [pair("a", saved, 160.0, silent=(("needless-wait at a.py:1",),)),
     pair("b", saved, 300.0), pair("c", saved, shown=(0, 0, 0))])))')"
same "... none shown is none met" "False" "$(counted 'print(*(met for _, met in bars([])))')"

# --- the table ---
table=$(grep -v '^#' "$bench/pairs" | awk '{ print $1, $3 }')
same "the table's pairs are the folder's, in alphabetical order" \
	"$(cd "$bench" && grep -lE '(#|//) the wait$' ./*.py ./*.cu | sed -E 's,./(.*)\..*,\1,' | sort)" \
	"$(sed 's/ .*//' <<<"$table")"
same "ten are aside: every second one" "$(head -n 20 <<<"$table" | awk 'NR % 2 == 0')" \
	"$(grep ' aside$' <<<"$table")"
for source in "$bench"/*.py; do
	python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$source" 2>"$tmp/err"
	ok "${source##*/} can be compiled: $(tail -n 1 "$tmp/err")" $?
done
rules=$("$build/bin/cufence" help rules 2>/dev/null)
for rule in $(grep -v '^#' "$bench/pairs" | awk '{ gsub(",", "\n", $4); print $4 }' | sort -u); do
	has "$rule is a rule" "(^| )$rule( |\$)" "$rules"
done

# --- the driver ---
# A sanitized device cannot be loaded by programs that run without the recorder.
sanitized 2>/dev/null && finish
needs "$build/bin/cufence" "$build/lib/libcufence.so" "$build/sim/libcuda.so.1"
drive() { # OPTION...
	"$bench/run" "$build" --sim --pairs "$here/foreign" --out "$tmp/out" --processes 6 "$@" 2>"$tmp/err"
}
table=$(drive --only sync_turn,torn)
has "a pair is measured, traced, and found at its line" "^sync_turn +100\.0 +10\.0 .* 10\.0% \| +3/3 .*silent" "$table"
has "a program that fails is said to" "^torn: ended early, traced: status 3, 1 calls of main\(\) of 3" "$table"
has "the bars are said" "^shown at the line 1 of 1, at least 90%: met" "$table"
same "kept: reports, times, databases, the table" \
	"sync_turn.db.gz sync_turn.fixed.db.gz sync_turn.fixed.txt sync_turn.json sync_turn.txt table.txt" \
	"$(cd "$tmp/out" && echo *)"
row=$(grep '^sync_turn ' <<<"$table")
same "what is there is not run again" "$row" "$(drive --seconds 0 --only sync_turn | grep '^sync_turn ')"
has "... nor is time for it foreseen" "^1 pairs: about 0 s" "$(cat "$tmp/err")"
rm -r "$tmp/out"
table=$(drive --jobs 2 --only sync_turn,torn)
has "two at a time: a pair is measured" "^sync_turn +100\.0 +10\.0 .* 10\.0% \| +3/3 .*silent" "$table"
has "... and one that fails is said to" "^torn: ended early, traced: status 3, 1 calls of main\(\) of 3" "$table"
held() { # whether a program that wants its turn waits while this shell has it
	PAIR_TURN=$tmp/turn PAIR_CORES=0 PYTHONPATH=$bench timeout "$1" python3 -c "import pair; pair.take_turn()"
}
touch "$tmp/turn"
exec 8<>"$tmp/turn"
flock 8
held 1
same "a program waits for its turn" 124 $?
flock -u 8
held 20
same "... and takes it" 0 $?
table=$(drive --aside)
has "pairs that are aside run" "^read_turn .* 3/3 " "$table"
same "... and no others" 0 "$(grep -c '^sync_turn' <<<"$table")"
finish
