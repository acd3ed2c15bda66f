#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The loop of a Python program is its step: as many turns as it has steps, within one, named by a line
# of the loop, whatever is nested in it, contains it, or follows it in another thread.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")/python" && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/lib/libcufence.so" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1

marked() { # KIND NAME COLUMN
	grep -n "# $1 $2 " "$here/loops.py" | sed -E "s/^([0-9]+):.*# $1 $2 (.*)/\\$3/" | sort -u
}

for name in training epochs epochs_in_place logged branches tokens lines_of_one_call warmed generated \
	nested compiled called evaluated; do
	timeout 100 "$cufence" run --sim -o "$name.db" -- "${PYTHON:-python3}" "$here/loops.py" "$name" >out 2>err
	ok "$name: runs" $?
	turns=$("$cufence" query "$name.db" "SELECT turns + warm FROM loop")
	wanted=$(marked loop "$name" 2)
	[ -n "$turns" ] && [ "$turns" -le "$wanted" ] && [ "$turns" -ge $((wanted - 1)) ]
	ok "$name: $wanted turns ($turns)" $?
	place=$("$cufence" query "$name.db" "SELECT place FROM loop")
	marked loop "$name" 1 | grep -qx "${place#loops.py:}"
	ok "$name: named by a line of the loop ($place)" $?
	inner=$(marked inner "$name" 1)
	same "$name: nested loops" "${inner:+loops.py:$inner, $(marked inner "$name" 2) times}" "$("$cufence" query "$name.db" \
		"SELECT i.place || ', ' || (i.turns / (l.turns + l.warm)) || ' times' FROM inner_loop i JOIN loop l USING (process)")"
	same "$name: a time for each turn" 0 "$("$cufence" query "$name.db" \
		"SELECT count(*) - (SELECT sum(turns) FROM loop) + count(*) - count(DISTINCT start) FROM turn")"
	same "$name: all time has a cause" "" "$("$cufence" query "$name.db" "SELECT a.device, sum(a.time) FROM account a
		JOIN loop l USING (process) GROUP BY 1 HAVING sum(a.time) <> max(l.end - l.start - l.paused)")"
done
has "the report says it" '^ *loop +[0-9]+ turns of .*, from loops.py:[0-9]+ on' "$("$cufence" report training.db 2>&1)"
has "and what is nested" '^ *each with 12 turns from loops.py:[0-9]+ on$' "$("$cufence" report training.db 2>&1)"

# Without the source the line is one that the loop runs.
mkdir moved
cp "$here/loops.py" moved/
timeout 100 "$cufence" run --sim --keep-trace -o moved.db -- "${PYTHON:-python3}" moved/loops.py training >out 2>err
rm -r moved
"$cufence" load moved.db.traces*/*.cft -o again.db 2>err
same "without the source: turns" "40" "$("$cufence" query again.db "SELECT turns + warm FROM loop")"
has "without the source: a line of the script" '^loops.py:[0-9]+$' "$("$cufence" query again.db "SELECT place FROM loop")"

timeout 100 "$cufence" run --sim -o nothing.db -- "${PYTHON:-python3}" "$here/loops.py" nothing >out 2>err
same "nothing repeats: no loop" "" "$("$cufence" query nothing.db "SELECT * FROM loop")"
finish
