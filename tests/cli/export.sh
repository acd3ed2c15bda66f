#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence export": what stands in the files is what stands in the databases, and DuckDB, where Node has
# @duckdb/node-api (NODE_PATH), gives the answers of SQLite.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")/.." && pwd)
cufence=$build/bin/cufence
needs "$cufence"
command -v sqlite3 >/dev/null && command -v python3 >/dev/null || { echo "skipped: no sqlite3 or python3"; finish; }
cd "$tmp" || exit 1

rank() { # NUMBER: NUMBER.cft, a trace as of that rank
	golden_text free_in_loop | sed "1s/ pid=[0-9]*/ pid=10$1/; 1a chunk thread=0\nproperty name=\"env.RANK\" value=\"$1\"\n\
property name=\"env.WORLD_SIZE\" value=\"9\"\nproperty name=\"host\" value=\"node$(($1 / 2))\"" |
		"$cufence" undump - -o "$1.cft"
}
for r in 0 1 2 3; do rank $r; done
"$cufence" load 0.cft 1.cft -o both.db 2>/dev/null && "$cufence" load 2.cft -o 2.db 2>/dev/null && "$cufence" load 3.cft -o 3.db 2>/dev/null
ok "databases" $?

# What is easily lost, and times in 40 hours, one after the other: more than there are files open at once.
sqlite3 2.db "UPDATE call SET enter = enter + id % 40 * 3600000000000, exit = exit + id % 40 * 3600000000000;
	INSERT INTO property VALUES (1, 'odd', 'a,b'), (1, 'odd', '\"'), (1, 'odd', char(10) || '\"' || char(13, 10)),
		(1, 'odd', ''), (1, 'odd', '\N'), (1, 'odd', 'NULL'), (1, 'odd', ' x '), (1, 'odd', 'Ä' || char(128512)), (1, 'odd', CAST(x'61ff62c3' AS TEXT));
	UPDATE allocation SET address = 9223372036854775807 WHERE id = 1; UPDATE event SET handle = -9223372036854775808 WHERE id = 1;
	UPDATE stream SET name = '' WHERE id = 1; UPDATE finding SET share = 0.1234567890123456789e-7;
	INSERT INTO image_piece VALUES (1, 5, 0, 4, x'00220aff'), (1, 6, 0, 0, x'')"
"$cufence" export all both.db 2.db 3.db --run job --commit 1a2b 2>err
same "exports" "0 " "$? $(cat err)"
find all -name '*.tmp-*' >left
same "nothing unfinished" "" "$(cat left)"
same "a table's calls are in files of their rank" "in_rank=0 in_rank=1 in_rank=2 in_rank=3" \
	"$(cd all/call/in_run=job && echo *)"
same "and of their hour" 40 "$(find all/call/in_run=job/in_rank=2 -name '*.gz' | wc -l)"
same "what a call has is in the hour of the call" "$(find all/call/in_run=job/in_rank=2 -name '*.gz' | cut -d/ -f5 | sort)" \
	"$(find all/call/in_run=job/in_rank=2 all/operand/in_run=job/in_rank=2 -name '*.gz' | cut -d/ -f5 | sort -u)"
same "one database, one name" 3 "$(find all/process/in_run=job -name '*.gz' -printf '%f\n' | sort -u | wc -l)"

# --- the files again as rows ---
back=$tmp/back.py
cat >"$back" <<'END'
import collections, glob, gzip, sqlite3, sys

def records(text):
	"""Fields as (text, quoted)."""
	row, at = [], 0
	while at < len(text):
		quoted = text[at] == '"'
		if quoted:
			end, value = at + 1, ""
			while True:
				stop = text.index('"', end)
				value += text[end:stop]
				if text[stop + 1] != '"':
					break
				value += '"'
				end = stop + 2
			at = stop + 1
		else:
			stop = min(i for i in (text.find(",", at), text.find("\n", at)) if i >= 0)
			value, at = text[at:stop], stop
		row.append((value, quoted))
		if text[at] == "\n":
			yield row
			row = []
		at += 1

def value(field, kind):
	text, quoted = field
	if quoted:
		return text
	if text == "\\N":
		return None
	return bytes.fromhex(text) if kind == "BLOB" else float(text) if kind == "REAL" else int(text)

folder, wrong, rows = sys.argv[1], 0, 0
wanted = collections.defaultdict(collections.Counter)
left_out = {"trace", "merge_source", "member", "member_setting", "member_time", "member_place", "merged_finding", "deviation"}
for path in sys.argv[2:]:
	db = sqlite3.connect(path)
	db.text_factory = lambda b: b.decode("utf-8", "replace")
	for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
		if table not in left_out and not table.startswith("sqlite_"):
			wanted[table].update(db.execute(f'SELECT * FROM "{table}"').fetchall())
			wanted[table]
for table, want in wanted.items():
	got = collections.Counter()
	columns = db.execute(f'PRAGMA table_xinfo("{table}")').fetchall()
	for path in glob.glob(f"{folder}/{table}/*/*/*/*.csv.gz"):
		text = gzip.open(path, "rt", encoding="utf-8", newline="").read()
		header, *body = records(text)
		if [name for name, _ in header] != ["db"] + [c[1] for c in columns]:
			print(table, "header", header)
		for row in body:
			if row[0][0] != path.rsplit("/", 1)[1][:-7]:
				print(table, "db", row[0])
			got[tuple(value(f, c[2].split()[0] if c[2] else "INTEGER") for f, c in zip(row[1:], columns))] += 1
	rows += sum(got.values())
	if got != want:
		print(table, "differs:", list((got - want).items())[:3], list((want - got).items())[:3])
print(rows > 1000)
END
same "all rows of all tables, and no others" True "$(python3 "$back" all both.db 2.db 3.db)"
"$cufence" export all 2.db --run job
same "a database that is there is replaced" True "$(python3 "$back" all both.db 2.db 3.db)"
has "who a database is of" '^[0-9a-f]{16},"job","1a2b",.*,103,3,\\N,9,"node1",0,[0-9]+,' \
	"$(zcat all/exported/in_run=job/in_rank=3/*/*.gz | tail -n 1)"
"$cufence" export one 3.db
same "a run is named by its beginning" "in_run=$(date -u -d "@$(("$("$cufence" query 3.db "SELECT start_unix_ns FROM run")" / 1000000000))" +%Y%m%dT%H%M%SZ)" \
	"$(ls one/call | grep -v HIVE)"

# --- what is refused ---
refused() { # TEXT PATTERN ARGUMENT...
	local text=$1 pattern=$2
	shift 2
	"$cufence" export "$@" >/dev/null 2>err
	same "$text: the exit status" 2 $?
	has "$text" "$pattern" "$(cat err)"
}
refused "a folder of something else" "'\.' is neither an export of cufence nor an empty folder" . 3.db
refused "a run that is no name" "\-\-run is made of letters" new 3.db --run a/b
mkdir old && echo '{"cufence": "export", "schema": 7}' >old/manifest.json
refused "another schema" "'old' has tables of schema 7, and this cufence has" old 3.db
"$cufence" merge merged.db 2.db 3.db >/dev/null 2>&1
refused "a merged database" "'merged.db' is a merged database: name those of the ranks" new merged.db
refused "no database" "'none.db'" new none.db
if [ "$(id -u)" -ne 0 ]; then
	mkdir shut && chmod 500 shut
	refused "a folder that may not be written to" "cannot make" shut/new 3.db
fi

# --- engines ---
"$cufence" export clean both.db 3.db --run job --commit 1a2b
db=$(zcat clean/exported/in_run=job/in_rank=3/*/*.gz | tail -n 1 | cut -d, -f1)
if NODE_PATH=${NODE_PATH:-} node -e 'require("@duckdb/node-api")' 2>/dev/null; then
	said=$(node "$here/formats/duckdb.js" all duckdb/create.sql -- "SELECT value FROM property WHERE name = 'odd' AND value <> '' ORDER BY value" \
		"SELECT count(*) FROM property WHERE value = ''" "SELECT max(address) FROM allocation" "SELECT count(*) FROM stream WHERE name IS NULL" \
		"SELECT octet_length(data) FROM image_piece WHERE hash = 5" "SELECT count(DISTINCT in_rank) FROM call" 2>&1)
	same "DuckDB: odd values" '"\n\"\r\n"|" x "|"\""|"NULL"|"\\N"|"a,b"|"a\ufffdb\ufffd"|"Ä😀"|"1"|"9223372036854775807"|'"\"$(for d in both 2 3; do
		"$cufence" query $d.db "SELECT count(*) FROM stream WHERE name IS NULL"; done | paste -sd+ | bc)\""'|"4"|"4"' "$(echo "$said" | sed 's/�/\\ufffd/g' | paste -sd'|')"
	for query in clean/duckdb/queries/*.sql; do
		name=$(basename "$query" .sql)
		"$cufence" query --json 3.db "$name" >sqlite.json
		DB=$db node "$here/formats/duckdb.js" clean duckdb/create.sql duckdb/one.sql "duckdb/queries/$name.sql" --compare "$PWD/sqlite.json" >said 2>&1
		same "DuckDB: $name is as in SQLite" "" "$(cat said)"
	done
	for query in clean/duckdb/fleet/*.sql; do
		node "$here/formats/duckdb.js" clean duckdb/create.sql "duckdb/fleet/${query##*/}" --rows >said 2>&1
		has "DuckDB: ${query##*/} has rows" '^[1-9]' "$(cat said)"
	done
else
	echo "skipped: no DuckDB for Node (NODE_PATH)"
fi
finish
