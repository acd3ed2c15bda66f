#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that -o writes to the file of that name, which only its owner may access, and overwrites
# nothing else.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
"$cufence" undump "$here/traces/blocking_free.txt" -o free.cft
ok "set-up" $?

# --- names that SQLite reads otherwise ---
for name in file:x.db 'file:y.db?mode=memory' :memory: 'file::memory:'; do
	"$cufence" load free.cft -o "$name" && [ -s "./$name" ] && "$cufence" report "./$name" | grep -q ^blocking-free
	ok "$name is the name of a file" $?
done
"$cufence" report file:x.db | grep -q ^blocking-free
ok "and so for reading" $?
[ ! -e x.db ] && [ ! -e y.db ]
ok "nothing of another name" $?

# --- what undump could not finish ---
echo notes >notes.txt
: >cut.cft
ln -s cut.cft link.cft
mkfifo pipe.cft
cat pipe.cft >/dev/null &
for name in plain.cft link.cft pipe.cft; do
	"$cufence" undump notes.txt -o $name 2>err
done
wait
same "undump removes its file, but no link or pipe" "cut.cft link.cft pipe.cft" \
	"$(ls -d plain.cft cut.cft link.cft pipe.cft 2>/dev/null | paste -sd' ')"

# --- permissions ---
same "a database is its owner's alone" 600 "$(umask 0; "$cufence" load free.cft -o own.db && stat -c %a own.db)"
chmod 644 own.db
"$cufence" load free.cft -o own.db
same "the previous one keeps its own" "600 644" "$(stat -c %a own.db own.db.old | paste -sd' ')"

# --- the previous one ---
"$cufence" load free.cft -o y.db
echo notes >y.db.old
"$cufence" load free.cft -o y.db 2>err
same "an unrelated file of that name: status" 2 "$?"
same "an unrelated file of that name: why" "cufence: 'y.db.old' exists but is not a cufence database, \
which the previous one would replace; use -o to write elsewhere" "$(cat err)"
same "it stays" notes "$(cat y.db.old)"
"$cufence" run -o y.db -- touch ran 2>err
same "and nothing is run" "125 no" "$? $([ -e ran ] && echo yes || echo no)"
rm y.db.old
"$cufence" load free.cft -o y.db && cp y.db.old kept && : >y.db && "$cufence" load free.cft -o y.db
cmp -s y.db.old kept
ok "an empty file does not replace it" $?

# --- links of others ---
mkdir -m 1777 all
chown 65534 all 2>/dev/null
"$cufence" load free.cft -o all/mine.db && ln -s mine.db all/link && "$cufence" load free.cft -o all/link &&
	[ -L all/link ] && [ -e all/mine.db.old ]
ok "one's own link is followed" $?
: >empty.db
: >report.txt
ln -s "$PWD/empty.db" all/foreign
ln -s "$PWD/report.txt" all/text
if chown -h 65533 all/foreign all/text 2>/dev/null; then
	for command in "load free.cft -o all/foreign" "report y.db -o all/text" \
		"undump $here/traces/blocking_free.txt -o all/text" "run -o all/foreign -- touch ran"; do
		# shellcheck disable=SC2086
		"$cufence" $command 2>err
		[ $? -ge 2 ]
		ok "$command: refused" $?
		has "$command: why" "is another user's symbolic link.*-o to write elsewhere" "$(cat err)"
	done
	[ ! -s empty.db ] && [ ! -s report.txt ] && [ ! -e ran ]
	ok "nothing was replaced or run" $?
	chmod -t all
	"$cufence" load free.cft -o all/foreign && [ -s empty.db ]
	ok "in a folder that is not sticky it is followed" $?
fi
finish
