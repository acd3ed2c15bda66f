#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every command refuses a damaged or forged database in one line.  A query may only read.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
golden_text graph_pipeline | "$cufence" undump - -o run.cft && "$cufence" load run.cft -o whole.db
ok "set-up" $?

refused() { # TEXT PATTERN: by all commands
	local command
	for command in "analyze bad.db" "why bad.db 1 2" "report bad.db" "report --format json bad.db" \
		"check bad.db" "query bad.db calls"; do
		# shellcheck disable=SC2086
		timeout 20 "$cufence" $command >out 2>err
		same "$1, $command: status" 2 "$?"
		has "$1, $command: why" "^cufence: '[^']*bad.db' is damaged: .*$2.*; run \"cufence load\" again$" \
			"$(cat err)"
		same "$1, $command: one line" "1 0" "$(wc -l <err) $(wc -l <out)"
	done
}
damage() { # SQL...: to a copy; -unsafe: sqlite3 itself protects its tables otherwise
	cp whole.db bad.db
	sqlite3 -cmd '.dbconfig defensive off' -cmd 'PRAGMA writable_schema = ON' bad.db "$@" >/dev/null
	ok "damage: ${1:0:40}" $?
}

damage "UPDATE call SET kernel = 'text' WHERE kernel NOT NULL"
refused "text for a number" "row [0-9]+ of table 'call' has a wrong 'kernel'"
damage "UPDATE call SET thread = 1000000000000 WHERE id = 9"
refused "a row that is not there" "row 9 of table 'call' has a wrong 'thread'"
damage "UPDATE kernel SET id = 9000000000000000 WHERE id = (SELECT max(id) FROM kernel)"
refused "an id out of all proportion" "row [0-9]+ of table '[a-z]+' has a wrong"
damage "UPDATE call SET parent = id"
refused "a call within itself" "row 1 of table 'call' has a wrong 'time, count or order'"
damage "UPDATE call SET enter = -9223372036854775807 WHERE id = 3"
refused "a time that cannot be" "row 3 of table 'call' has a wrong 'time, count or order'"
damage "UPDATE process SET clock_error = 9223372036854775807"
refused "a clock that cannot be" "row 1 of table 'process' has a wrong 'time, count or order'"
damage "UPDATE call SET enter = -1000000000000000000"
refused "times that cannot be, in sum" "row [0-9]+ of table 'call' has a wrong 'duration'"
damage "UPDATE stream_use SET operations = 9223372036854775807"
refused "a count that cannot be" "row 1 of table 'stream_use' has a wrong 'time, count or order'"
damage "INSERT OR REPLACE INTO replay (process, measured, share) VALUES (1, 0, 9e999)"
refused "a share without a limit" "row 1 of table 'replay' has a wrong 'share'"
damage "UPDATE operation SET device = 28656"
refused "a device that cannot be" "row 1 of table 'operation' has a wrong 'time, count or order'"
damage "UPDATE context SET device = 28656"
refused "a context of such a device" "row 1 of table 'context' has a wrong 'time, count or order'"
damage "DELETE FROM stream WHERE id = 1"
refused "a missing row" "has a wrong"

# NULL where a text is wanted: declared so for a moment.
damage "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'call_type'" \
	"UPDATE sqlite_schema SET sql = sql WHERE name = 'finding'"
sqlite3 bad.db "UPDATE call_type SET kind = NULL"
sqlite3 whole.db "SELECT quote(sql) FROM sqlite_schema WHERE name = 'call_type'" >declared
sqlite3 -cmd '.dbconfig defensive off' bad.db "PRAGMA writable_schema = ON" \
	"UPDATE sqlite_schema SET sql = $(cat declared) WHERE name = 'call_type'" >/dev/null
same "no text: set-up" 1 "$(sqlite3 bad.db 'SELECT count(*) FROM call_type WHERE id = 1 AND quote(kind) = '\''NULL'\''')"
refused "no text" "call_type"

damage "DROP TABLE wait"
refused "a missing table" "there is no table 'wait'"
damage "DROP INDEX site_text"
refused "a missing index" "there is no index 'site_text'"
damage "DROP INDEX site_text" "CREATE INDEX site_text ON site (text DESC)"
refused "another index" "'site_text' does not match the schema of cufence"
damage "ALTER TABLE call RENAME TO hidden" "CREATE VIEW call AS SELECT * FROM hidden"
refused "a view for a table" "'[a-z_]+' does not match the schema of cufence"
damage "DROP TABLE wait" "CREATE VIEW wait AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1
	FROM n) SELECT id, 1 AS call, 'explicit' AS kind, 1 AS waited, 1 AS avoidable FROM n"
refused "a view without an end" "'wait' does not match the schema of cufence"
damage "ALTER TABLE finding ADD COLUMN more"
refused "another column" "'finding' does not match the schema of cufence"
damage "UPDATE sqlite_schema SET sql = replace(sql, 'event INTEGER', '\"ent') WHERE name = 'graph_node'"
refused "a declaration that nobody can read" "malformed database schema \(graph_node\)"
damage "CREATE TRIGGER t AFTER INSERT ON finding BEGIN DELETE FROM finding; END"
refused "a trigger" "it has a trigger"

size=$(sqlite3 whole.db 'PRAGMA page_size')
root=$(sqlite3 whole.db "SELECT rootpage FROM sqlite_schema WHERE name = 'call'")
for page in "$root" 1; do
	cp whole.db bad.db
	head -c $((size - 100)) /dev/urandom |
		dd of=bad.db bs=1 seek=$(((page - 1) * size + 100)) conv=notrunc status=none
	refused "page $page overwritten" ""
done
head -c $((5 * size)) whole.db >bad.db
refused "cut off" ""

# Objects that a user adds to a database do no harm.
cp whole.db mine.db
sqlite3 mine.db "CREATE TABLE note (call, text)" "CREATE VIEW mine AS SELECT * FROM call" \
	"CREATE INDEX mine_call ON call (type)"
same "a user's own tables" "$("$cufence" report whole.db)" "$("$cufence" report mine.db)"
"$cufence" analyze mine.db
ok "and it is analyzed" $?

# Another name for the same declaration, and older comments, are those of an older cufence.
cp whole.db older.db
sqlite3 -cmd '.dbconfig defensive off' older.db "PRAGMA writable_schema = ON" \
	"UPDATE sqlite_schema SET sql = replace(sql, '-- ', '-- once: ') WHERE type = 'table'" >/dev/null
same "other comments" "$("$cufence" report whole.db)" "$("$cufence" report older.db)"

# An unfinished change is no damage: a user who may write to the database rolls it back.
cp whole.db half.db
# shellcheck disable=SC2016
{ sqlite3 half.db 'PRAGMA cache_size = 1' 'BEGIN' 'UPDATE call SET enter = enter + 1' \
	'.shell kill -9 $PPID'; } >/dev/null 2>&1
"$cufence" report half.db 2>err
same "half changed: status" 2 "$?"
same "half changed: why" "cufence: 'half.db' is incomplete: a command that changed it was killed; run \
\"cufence analyze\" again" "$(cat err)"
"$cufence" analyze half.db
same "analyzed again" "$("$cufence" report whole.db)" "$("$cufence" report half.db)"

# --- queries ---
for sql in "ATTACH 'other.db' AS other" "VACUUM INTO 'other.db'" "DELETE FROM call" "BEGIN" \
	"PRAGMA journal_mode = WAL" "PRAGMA writable_schema = ON" "CREATE TEMP TABLE t (x)" \
	"SELECT load_extension('x')"; do
	"$cufence" query whole.db "$sql" >out 2>err
	same "query refuses: $sql" "2 1 0" "$? $(wc -l <err) $(wc -l <out)"
done
[ ! -e other.db ]
ok "and nothing was made" $?
same "pragmas that read" "$(sqlite3 whole.db 'PRAGMA user_version')" \
	"$("$cufence" query whole.db 'PRAGMA user_version')"
mkfifo pipe
timeout 5 "$cufence" report pipe 2>err
same "a pipe is not waited for" "2 cufence: 'pipe' is not a regular file" "$? $(cat err)"
finish
