#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run of several processes: findings of one place are one in every format, with the numbers that
# the database has for each process, and the summary has a row for each.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
root=$(cd "$(dirname "$0")/../.." && pwd)
needs "$build/sim/libcuda.so.1" "$build/testapps/free_in_loop" "$build/testapps/early_record" "$build/bench/make_turns"
cd "$tmp" || exit 1

# Four of one program, and one of another.
"$cufence" run --sim -o five.db -- sh -c "for i in 1 2 3 4; do '$build/testapps/free_in_loop' & done
	'$build/testapps/early_record' & wait" >/dev/null 2>err
ok "the run" $?
query() { # SQL
	"$cufence" query five.db "$1"
}
same "the database has a finding for each process" "4 1" \
	"$(query "SELECT count(*) FROM finding WHERE rule = 'blocking-free'") $(query "SELECT count(*) FROM finding
		WHERE rule = 'missing-fence'")"

# --- text ---
"$cufence" report five.db >text
same "text: one each" "1 1" "$(grep -c '^blocking-free' text) $(grep -c '^missing-fence' text)"
has "text: in how many processes, what it costs in each" \
	'^    in 4 of 5 processes, each 29 times, [0-9. ms]+ host wait, at most .* saving; pid [0-9]+: 29 times, ' "$(cat text)"
pid=$(query "SELECT pid FROM process p JOIN finding f ON f.process = p.id WHERE rule = 'missing-fence'")
has "text: the one process" "^    in 1 of 5 processes, pid $pid: 10 times$" "$(cat text)"
same "text: a row for each process, with its findings" \
	"$(query "SELECT pid || ' ' || (SELECT count(*) FROM finding f WHERE f.process = p.id AND shown) || ' '
		|| iif(pid = $pid, 'early_record', 'free_in_loop') FROM process p ORDER BY id")" \
	"$(awk '/^    device/ { exit } table { print $1, $(NF - 1), $NF } /^    process  pid/ { table = 1 }' text)"
same "text: a loop for each program" 2 "$(grep -c '^    loop' text)"
has "text: why there is no estimate, once" '^no closer estimate .* \[4 processes\]$' "$(grep '^no closer' text)"

# Devices differ by where they sit: each process may have but one, and call it 0.
query "SELECT refusal FROM replay" | sort -u >refused
same "one device: no replay" "several processes used the device at the same time" "$(cat refused)"
cp five.db apart.db
sqlite3 apart.db "UPDATE device_attribute SET value = process WHERE name = 'pci_bus_id'"
same "... the simulator says where it is" 5 "$(sqlite3 apart.db "SELECT count(DISTINCT value) FROM device_attribute
	WHERE name = 'pci_bus_id'")"
"$cufence" analyze apart.db
same "devices of the same number: replayed" 0 "$("$cufence" query apart.db \
	"SELECT count(*) FROM replay WHERE refusal LIKE 'several%'")"

# Each process's own can be asked for by its number.
for number in $(query "SELECT id FROM finding WHERE rule = 'blocking-free'"); do
	"$cufence" report --finding "$number" five.db >one
	has "finding $number: that of its process" \
		"processes, .*; pid $(query "SELECT pid FROM process p JOIN finding f ON f.process = p.id
			WHERE f.id = $number"): 29 times" "$(cat one)"
	same "finding $number: by its number" "#$number" "$(grep -o '#[0-9]*$' one)"
done

# --- check ---
"$cufence" check five.db >check 2>err
same "check: fails" 1 $?
same "check: a line each" "1 1" "$(grep -c 'blocking-free' check) $(grep -c 'missing-fence' check)"
has "check: with the processes" ': in 4 of 5 processes, each 29 times' "$(cat check)"
has "check: two findings" '2 findings fail \(2 high\)' "$(cat err)"
query fingerprints >known
"$cufence" check --baseline known five.db >/dev/null 2>&1
same "check: known places pass" 0 $?
query "SELECT fingerprint FROM finding WHERE rule = 'missing-fence'" >known
"$cufence" check --baseline known five.db >check 2>/dev/null
same "check: unknown ones do not" "1 1" "$? $(wc -l <check)"
"$cufence" check --write-baseline base five.db 2>/dev/null
same "check: a baseline has the instances of all" "$(query "SELECT sum(count) FROM finding_place
	WHERE fingerprint GLOB 'blocking-free*'") times" "$(grep '^blocking-free' base | cut -f5 | cut -d, -f1)"

# --- formats for programs ---
"$cufence" report --format json --level possible five.db >json
"$build/tests/helpers/conforms" "$root/doc/report.schema.json" json
ok "JSON: conforms to the schema" $?
if command -v python3 >/dev/null; then
	same "JSON: the numbers of each process are the database's" \
		"$(query "SELECT rule || ' ' || f.id || ' ' || pid || ' ' || count || ' ' || waited || ' ' || saving
			FROM finding f JOIN process p ON p.id = f.process ORDER BY f.id")" \
		"$(python3 -c 'if 1:
			import json
			rows = [(p["finding"], f["rule"], p["pid"], p["count"], p["waited_ns"], p["saving_ns"])
				for f in json.load(open("json"))["findings"] for p in f["processes"]]
			for row in sorted(rows):
				print(row[1], row[0], *row[2:])')"
	mkdir formats && "$cufence" report --format json five.db >formats/five.json
	for format in sarif junit github markdown csv; do
		"$cufence" report --format $format five.db >formats/five.$format
	done
	python3 "$root/tests/formats/formats.py" formats sarif junit github markdown csv >out
	same "formats hold the findings of the JSON" "" "$(cat out)"
	schema_of_sarif formats
	cp formats/five.sarif sarif
	same "SARIF: a result each, with its occurrences" "missing-fence 1 1|blocking-free 4 4" \
		"$(python3 -c 'if 1:
			import json
			results = json.load(open("sarif"))["runs"][0]["results"]
			print("|".join(f"""{r["ruleId"]} {r["occurrenceCount"]} {len(r["properties"]["processes"])}"""
				for r in results))')"
fi
for format in github junit markdown csv html; do
	"$cufence" report --format $format five.db | tr -d '\r' >out
	has "$format: in how many processes" '4 of 5 processes|,4$' "$(cat out)"
done
"$cufence" report --format html five.db >page
grep -qE "\[\"\",\"$pid +[0-9.]+ ms .* early_record\"\]" page
ok "the page: a row for each process" $?
"$cufence" report --format csv five.db | tr -d '\r' >out
same "CSV: a row each" "processes 1 4" "$(sed 's/.*,//' out | paste -sd' ')"
same "GitHub: a line each" 2 "$("$cufence" report --format github five.db | grep -c '^::error')"

# --- processes are replayed at the same time, where there are processors ---
on_one() { # CMD...
	taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$@"
}
dump() { # DATABASE
	sqlite3 "$1" .dump
}
cp apart.db serial.db
"$cufence" analyze apart.db && on_one "$cufence" analyze serial.db
same "five: on one processor the same database" "$(dump serial.db | md5sum)" "$(dump apart.db | md5sum)"
same "... with replays of each" 5 "$(sqlite3 apart.db "SELECT count(*) FROM replay WHERE replays > 0")"
for number in 0 1 2; do
	"$build/bench/make_turns" 5000 $number.cft $number 0
done
"$cufence" load -o all.db 0.cft 1.cft 2.cft && on_one "$cufence" load -o serial.db 0.cft 1.cft 2.cft
ok "three traces are loaded" $?
same "three: on one processor the same database" "$(dump serial.db | md5sum)" "$(dump all.db | md5sum)"
same "... with a replay of each" "1 2 3" "$(sqlite3 all.db "SELECT process FROM replay
	WHERE replays > 0 ORDER BY 1" | paste -sd' ')"
same "... and the report" "$(on_one "$cufence" report serial.db | sed s/serial.db//)" \
	"$("$cufence" report all.db | sed s/all.db//)"
# What one of them says alone is what it says among others.
saved="SELECT replayed, saving, saving_low, saving_high, replays FROM replay ORDER BY process DESC LIMIT 1"
"$cufence" load -o alone.db 2.cft
same "three: each saves what it saves alone" "$(sqlite3 alone.db "$saved")" "$(sqlite3 all.db "$saved")"
head -c "$(($(stat -c %s 1.cft) / 2))" 1.cft >cut.cft
"$cufence" load -o all.db 0.cft cut.cft 2>err
ok "a damaged one among them" $?
on_one "$cufence" load -o serial.db 0.cft cut.cft 2>serial.err
has "... says so" "^cufence: 'cut.cft' is damaged: .*; loaded the undamaged part$" "$(cat err)"
same "... on one processor, too" "$(cat err)" "$(cat serial.err)"
same "... the same database" "$(dump serial.db | md5sum)" "$(dump all.db | md5sum)"
same "... and nothing is left" "" "$(ls -- *.tmp-* 2>/dev/null)"

# --- traces are loaded at the same time, and their ids are joined: of objects of all kinds ---
for app in graph_early_host host_signal mapped_twice registered_twice symbol_per_step texture_race; do
	"$cufence" run --sim --keep-trace -o "kind-$app.db" -- "$build/testapps/$app" >/dev/null 2>&1
done
"$build/bench/make_turns" 500 rank-0.cft 0 2 && "$build/bench/make_turns" 500 rank-1.cft 1 2
kinds=(rank-*.cft kind-*.traces*/*.cft)
same "traces of all kinds" 8 "${#kinds[@]}"
"$cufence" load -o all.db "${kinds[@]}" && on_one "$cufence" load -o serial.db "${kinds[@]}"
ok "... are loaded" $?
same "... on one processor the same database" "$(dump serial.db | md5sum)" "$(dump all.db | md5sum)"
same "... whose references hold" "" "$(sqlite3 all.db 'PRAGMA integrity_check; PRAGMA foreign_key_check' | grep -vx ok)"
for kind in graph_change graph_update host_run alias twin variable texture collective; do
	same "... with rows of $kind" 1 "$(sqlite3 all.db "SELECT EXISTS (SELECT 1 FROM $kind)")"
done

# --- one process: nothing of it ---
"$cufence" run --sim -o one.db -- "$build/testapps/free_in_loop" >/dev/null 2>&1
for format in text json sarif csv; do
	has "one process: $format says nothing of processes" '^0$' \
		"$("$cufence" report --format $format one.db | tr -d '\r' | grep -cE '[0-9] processes|occurrenceCount|"processes":\[\{"finding|,processes$')"
done
finish
