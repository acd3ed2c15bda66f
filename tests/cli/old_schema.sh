#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A small run's traces stay in its database, so that a cufence of another schema loads them again.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence app=$build/testapps/module_load_in_loop
needs "$cufence"
cd "$tmp" || exit 1

change() { # DATABASE SQL
	"${PYTHON:-python3}" - "$@" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("PRAGMA writable_schema = ON;" + sys.argv[2])
db.commit()
END
	ok "set-up: $2" $?
}
age() { # FROM TO: as an older version would have made it
	cp "$1" "$2"
	change "$2" "PRAGMA user_version = 20; DROP TABLE wait; ALTER TABLE call RENAME enter TO began"
}
content() { # DATABASE: all of it but where the trace files were
	sqlite3 "$1" .dump | sed '/^INSERT INTO process /s/,.[^,]*cft.)/)/'
}
kept() { # DATABASE
	sqlite3 "$1" "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM trace ORDER BY id)"
}

mkdir "a run"
for name in free_in_loop graph_pipeline; do
	golden_text $name | "$cufence" undump - -o $name.cft
done
"$cufence" load free_in_loop.cft graph_pipeline.cft -o "a run/new.db"
same "what is kept" "trace trace" "$(kept "a run/new.db")"
"$cufence" report --format json "a run/new.db" >wanted.json
age "a run/new.db" "a run/old.db"
for command in report check analyze stats; do
	"$cufence" $command "a run/old.db" >out 2>err
	same "$command: an older schema" "2 1" "$? $(wc -l <err)"
done
has "it names the command" "load the traces again: cufence load 'a run/old.db'\$" "$(cat err)"
sh -c "$(sed "s/.*again: cufence/'${cufence//\//\\/}'/" err)" >out 2>&1
same "which says nothing" "0" "$?$(cat out)"
"$cufence" report --format json "a run/old.db" >got.json
same "and gives the same report" "" "$(diff wanted.json got.json)"
same "and the same rows" "" "$(diff <(content "a run/new.db") <(content "a run/old.db"))"
same "the older one is kept, and no trace files" "new.db old.db old.db.old" "$(cd "a run" && echo *)"

age "a run/new.db" old.db
"$cufence" load old.db -o other.db
same "to another database" "0" "$?$(diff <(content "a run/new.db") <(content other.db))"
"$cufence" report old.db >out 2>&1
same "the older one stays as it was" 2 "$?"
"$cufence" load old.db other.db >out 2>err
same "not with other operands" "2 1" "$? $(grep -c "'old.db' is a database" err)"

# None are kept.
none() { # TEXT OPTION...
	local text=$1
	shift
	"$cufence" load "$@" -o none.db 2>/dev/null
	same "$text: none are kept" "0" "$?$(kept none.db)"
	change none.db "PRAGMA user_version = 20"
	has "$text: report" "load the traces again$" "$("$cufence" report none.db 2>&1)"
	has "$text: load" "'none.db' has no traces" "$("$cufence" load none.db 2>&1)"
	same "$text: nothing is left over" "" "$(ls -d none.db.* 2>/dev/null | grep -v 'none.db.old$')"
}
"$cufence" undump "$here/traces/blocking_free.txt" -o free.cft
none "by option" --without-trace free.cft
cp free.cft sparse.cft
truncate -s 40M sparse.cft
none "too large" sparse.cft
cp free.cft noise.cft
head -c 5000000 /dev/urandom >>noise.cft
none "too large when compressed" noise.cft
"$cufence" load free.cft -o free.db
same "of a small trace they are" "trace" "$(kept free.db)"
"$cufence" load free.cft free.cft -o twice.db 2>/dev/null
same "of a trace given twice, one" "trace" "$(kept twice.db)"
"$cufence" load --without-trace free.cft -o none.db
age none.db older.db
change older.db "DROP TABLE trace"
has "of a schema before it" "'older.db' has no traces" "$("$cufence" load older.db 2>&1)"

# The table is input of anybody's.
refused() { # TEXT SQL WHY
	cp "a run/new.db" bad.db
	change bad.db "PRAGMA user_version = 20; $2"
	rm -f out.db
	timeout 20 "$cufence" load bad.db -o out.db >out 2>err
	same "$1: status" 2 "$?"
	has "$1: why" "^cufence: $3" "$(cat err)"
	same "$1: one line" "1 0" "$(wc -l <err) $(wc -l <out)"
	same "$1: nothing is left" "bad.db" "$(ls -d bad.db* out.db* 2>/dev/null)"
}
damaged="the traces in 'bad.db' are damaged \(row [12] of table 'trace'\)"
refused "a damaged blob" "UPDATE trace SET data = substr(data, 1, 40) || x'ffff' || substr(data, 43)" "$damaged"
refused "a short one" "UPDATE trace SET data = substr(data, 1, 40) WHERE id = 2" "$damaged"
refused "no bytes" "UPDATE trace SET data = x'' WHERE id = 2" "$damaged"
refused "text" "UPDATE trace SET data = 'text', bytes = 'many'" "$damaged"
refused "a blob too large" "UPDATE trace SET data = zeroblob(5000000) WHERE id = 1" "$damaged"
refused "another size" "UPDATE trace SET bytes = bytes + 1" "$damaged"
refused "a size out of all proportion" "UPDATE trace SET bytes = 9223372036854775807" "$damaged"
refused "a negative size" "UPDATE trace SET bytes = -4096" "$damaged"
refused "another hash" "UPDATE trace SET hash = hash + 1 WHERE id = 2" "$damaged"
refused "an image twice" "INSERT INTO trace SELECT 2 + n, 'image', hash, bytes, data FROM trace, (SELECT 1 AS n UNION SELECT 2)
	WHERE id = 2" \
	"cannot write '.*/cufence.images/[0-9a-f]{16}': File exists"
refused "more than may be kept" "WITH n(n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM n WHERE n < 9000)
	INSERT INTO trace SELECT n, kind, hash, bytes, data FROM n, trace WHERE id = 1" \
	"the traces in 'bad.db' are damaged \(row [0-9]+ of"
refused "no trace" "UPDATE trace SET kind = 'command', data =
	(SELECT data FROM trace WHERE id = 1)" "'bad.db' has no traces"
refused "a file that is no trace" "UPDATE trace SET hash = 5512510155448641791, bytes = 9,
	data = x'28b52ffd00584900006e6f2074726163650a' WHERE id = 2" "cannot load '.*cft'"
refused "a view" "ALTER TABLE trace RENAME TO hidden; CREATE VIEW trace AS
	WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n FROM n) SELECT n AS id, 'trace' AS kind,
	n AS hash, n AS bytes, n AS data FROM n" "'bad.db' has no traces"
refused "another table" "ALTER TABLE trace RENAME bytes TO size" "'bad.db' has no traces"
cp "a run/new.db" bad.db
change bad.db "INSERT INTO trace SELECT 3, 'later', hash, bytes, data FROM trace WHERE id = 1"
"$cufence" load bad.db
same "a kind of a later version is skipped" "0" "$?$(diff <(content "a run/new.db") <(content bad.db))"

# Two processes of a run share code that was made in memory.
needs "$app" "$build/sim/libcuda.so.1"
"$cufence" run --sim -o run.db -- sh -c "'$app' & '$app'; wait" >/dev/null 2>&1
same "run: what is kept" "command trace image trace" "$(kept run.db)"
age run.db again.db
"$cufence" load again.db
same "run: loaded again" "0" "$?$(diff <(content run.db) <(content again.db))"
"$cufence" run --sim --without-trace -o run.db -- "$app" >/dev/null 2>&1
same "run: none are kept, by option" "" "$(kept run.db)"
finish
