#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests mistakes of users and of machines: files of another kind, odd names, output that cannot be
# written, closed streams.  A message reports each one, and no existing file is lost.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
"$cufence" undump "$here/traces/blocking_free.txt" -o free.cft && "$cufence" load free.cft -o free.db
ok "set-up" $?

refuses() { # TEXT STATUS PATTERN COMMAND...: with that status, one message, nothing else
	local text=$1 wanted=$2 pattern=$3
	shift 3
	"$@" >out 2>err </dev/null
	same "$text: status" "$wanted" "$?"
	has "$text: why" "$pattern" "$(cat err)"
	same "$text: one line" "1 0" "$(wc -l <err) $(wc -l <out)"
}

# --- one kind of file for another ---
for command in report check analyze; do
	refuses "$command of a trace" 2 "'free.cft' is not a cufence database" "$cufence" $command free.cft
	refuses "$command of nothing" 2 "'none.db': No such file.*\"cufence run\"" "$cufence" $command none.db
	refuses "$command of a folder" 2 "'\.': Is a directory" "$cufence" $command .
done
refuses "load of a database with a trace" 2 "'free.db' is a database" "$cufence" load free.cft free.db -o x.db
refuses "dump of a database" 2 "'free.db': not a cufence trace" "$cufence" dump free.db
refuses "undump of a folder" 2 "cannot read" "$cufence" undump . -o x.cft
refuses "a query that is none" 2 "no query 'frob'.*--list" "$cufence" query free.db frob
refuses "bad SQL" 2 "no such column: frob" "$cufence" query free.db 'SELECT frob'
same "every statement" $'1\n2' "$("$cufence" query free.db 'SELECT 1; -- and
	SELECT 2;')"

# --- what is there stays ---
echo mine >notes
mkdir folder
cp free.cft twin.cft
mkfifo pipe
for path in notes folder free.cft pipe; do
	refuses "load over $path" 2 "is not a cufence database" "$cufence" load free.cft -o "$path"
	refuses "run over $path" 125 "is not a cufence database" "$cufence" run -o "$path" -- touch ran
done
[ ! -e ran ] && [ -d folder ] && cmp -s free.cft twin.cft && [ ! -e notes.old ] && [ "$(cat notes)" = mine ]
ok "nothing was replaced or run" $?
cp "$here/traces/blocking_free.txt" text
refuses "undump onto itself" 2 "'./text' is the input" "$cufence" undump text -o ./text
refuses "report onto itself" 2 "'./free.db' is the database" "$cufence" report free.db --format text -o ./free.db
same "the database is whole" ok "$("$cufence" query free.db 'PRAGMA integrity_check')"
: >empty.db
"$cufence" load free.cft -o empty.db
ok "an empty file may be replaced" $?
ln -s free.db link.db
"$cufence" load free.cft -o link.db && [ -L link.db ] && [ -e free.db.old ] && [ ! -e link.db.old ]
ok "a link stays, what it leads to is replaced" $?

# --- what a killed load left ---
sleep 0 &
gone=$!
wait $gone
sleep 60 &
alive=$!
touch left.db.tmp-{$gone,$alive,x,} left.db.tmp-${gone}x other.db.tmp-$gone
touch held.db.tmp-$gone left.db.tmp-$gone.operation_call
flock held.db.tmp-$gone -c "$cufence load free.cft -o left.db && $cufence load free.cft -o held.db"
kill $alive
[ ! -e "left.db.tmp-$gone" ] && [ ! -e "left.db.tmp-$gone.operation_call" ]
ok "what a process that is gone left is removed" $?
for name in held.db.tmp-$gone left.db.tmp-{$alive,x,,${gone}x} other.db.tmp-$gone; do
	[ -e "$name" ]
	ok "${name//[0-9]/} is kept" $?
done

# --- names ---
for name in "two words.db" $'new\nline.db' "größe.db" "100%s.db" "'quoted'.db"; do
	"$cufence" load free.cft -o "$name" && "$cufence" report "$name" | grep -q '^blocking-free'
	ok "a database of the name $name" $?
done
cp free.cft ./-dash.cft
"$cufence" load -o -dash.db -- -dash.cft && "$cufence" report -- -dash.db | grep -q '^blocking-free'
ok "names with a dash, after --" $?
same "the same in any locale" "$(LC_ALL=C "$cufence" report free.db)" "$(LC_ALL=C.UTF-8 "$cufence" report free.db)"
same "without an environment" "$("$cufence" report free.db)" "$(env -i "$cufence" report free.db)"

# --- output ---
for arguments in "report free.db" "report --format json free.db" "check free.db" "query free.db calls" "stats free.db" \
	"query --list" "dump free.cft" help "help run"; do
	# shellcheck disable=SC2086
	"$cufence" $arguments 2>err >/dev/full
	same "$arguments on a full disk: status" 2 "$?"
	same "$arguments on a full disk: why" \
		"cufence: cannot write to standard output: No space left on device" "$(grep -v '^cufence check: free.db: \|^    next ' err)"
	# shellcheck disable=SC2086
	"$cufence" $arguments 2>/dev/null >&-
	same "$arguments with a closed output" 2 "$?"
done
"$cufence" load free.cft -o closed.db <&- >&- 2>&-
ok "load with all streams closed" $?
"$cufence" load notes free.cft -o closed.db <&- >&- 2>&-
same "a failing load with all streams closed" 2 "$?"
same "no message is in the database" ok "$("$cufence" query closed.db 'PRAGMA integrity_check')"
# shellcheck disable=SC2016
fds=$("$cufence" run -o none.db -- sh -c '[ -e /proc/$$/fd/0 ] || [ -e /proc/$$/fd/2 ] || echo closed' <&- 2>&-)
same "a program finds closed what was closed" closed "$fds"
color() { script -qec "$1" /dev/null </dev/null | grep -c $'\033'; }
if command -v script >/dev/null; then
	unset NO_COLOR
	[ "$(TERM=xterm color "$cufence report free.db")" -gt 0 ]
	ok "colors on a terminal" $?
	same "none with NO_COLOR" 0 "$(TERM=xterm NO_COLOR=1 color "$cufence report free.db")"
	same "none on a dumb one" 0 "$(TERM=dumb color "$cufence report free.db")"
	said=$(TERM=xterm script -qec "$cufence load free.cft -o shown.db" /dev/null </dev/null | tr '\r' '\n')
	for step in 'creating indexes' 'ordering the calls' 'blocking-free' 'computing what is saved'; do
		has "progress on a terminal: $step" "cufence: $step, [0-9]+ %$" "$said"
	done
	same "none on a dumb one" "" "$(TERM=dumb script -qec "$cufence analyze shown.db" /dev/null </dev/null)"
fi
"$cufence" analyze free.db 2>err
same "no progress in a file" "" "$(cat err)"
if unshare -rm mount -t tmpfs none /mnt 2>/dev/null; then
	mkdir disk
	# shellcheck disable=SC2016
	said=$(unshare -rm bash -c 'mount -t tmpfs -o size=200k none disk && cp free.cft disk && cd disk || exit
		'"$cufence"' load free.cft 2>&1
		echo "status $? $(ls)"
		mount -o remount,ro disk ../disk
		'"$cufence"' load free.cft 2>&1
		'"$cufence"' run -- touch ../ran 2>&1')
	has "load on a full disk: why" "cufence.db.tmp-[0-9]+: database or disk is full" "$said"
	has "load on a full disk: what to do" "the disk of 'cufence.db' is full: free some space, or use -o" "$said"
	has "load on a full disk: nothing is left" "^status 2 free.cft$" "$said"
	has "load in a folder for reading: why" "cannot create 'cufence.db.tmp-[0-9]+': Read-only.*use -o to write elsewhere" "$said"
	has "run in a folder for reading: why" "cannot create 'cufence.db.traces-\w+': Read-only" "$said"
	[ ! -e ran ]
	ok "run in a folder for reading: did not run" $?
fi

# --- programs ---
printf '#!/no/such/shell\n' >headed
printf 'echo ran\n' >bare
printf '#!/bin/sh\necho ran\n' >unset
printf 'print("ran")\n' >script.py
chmod +x headed bare
refuses "a script without its interpreter" 127 \
	"cannot run './headed': No such file.*its interpreter is missing: check its first line" "$cufence" run -- ./headed
refuses "not in PATH, but here" 127 "cannot run 'headed': No such file.*not in PATH: add \./" "$cufence" run -- headed
refuses "not in PATH" 127 "cannot run 'nowhere': No such file.*not in PATH: give its path" "$cufence" run -- nowhere
refuses "not at its path" 127 "cannot run './nowhere': No such file.*check the path" "$cufence" run -- ./nowhere
refuses "not executable" 126 "cannot run './unset': Permission denied; make it executable with chmod" "$cufence" run -- ./unset
refuses "a script without its python" 126 "run a script with its interpreter" "$cufence" run -- ./script.py
refuses "a folder" 126 "cannot run '.': Permission denied; it is a folder: name a program in it" "$cufence" run -- .
same "a script without a first line" ran "$("$cufence" run -- ./bare 2>/dev/null)"

# --- the command line: what is wrong, and what to do ---
refuses "an option that is none" 125 "unknown option '--frob' \(see \"cufence help run\"\)" "$cufence" run --frob -- ./bare
refuses "no program" 125 "operand missing: '-- CMD...' \(see \"cufence help run\"\)" "$cufence" run --sim
refuses "no argument" 2 "an argument is missing for '--format' \(see \"cufence help report\"\)" "$cufence" report --format
refuses "a command that is none" 2 "unknown command 'reprot'; did you mean 'report'\? \(see \"cufence help\"\)" "$cufence" reprot
refuses "a rule that is none" 2 "'blocking-fre'; did you mean 'blocking-free'\? \(see .*\"cufence help rules\"" "$cufence" help blocking-fre
refuses "a rule that is none, to fail on" 2 "'blocking-fre'; did you mean 'blocking-free'\? \(see \"cufence help rules\"\)" "$cufence" check --fail-on blocking-fre free.db
refuses "check without its baseline" 2 "cannot open the baseline 'none': .*--write-baseline makes one" \
	"$cufence" check --baseline none free.db
refuses "check without its suppressions" 2 "cannot open 'none': .*man cufence" "$cufence" check --suppressions none free.db
refuses "check without a run" 2 "'away.db': No such file.*\"cufence run\"" "$cufence" check away.db
refuses "a query that writes" 2 "may only read; to change data, use sqlite3 on a copy" "$cufence" query free.db 'DELETE FROM call'
refuses "an empty query" 2 "is empty \(see \"cufence query --list\"\)" "$cufence" query free.db ' '
refuses "no query" 2 "the query is missing: give SQL or a name of \"cufence query --list\"" "$cufence" query
refuses "two levels" 2 "already shows every level: leave out --level" "$cufence" report --all --level likely free.db
refuses "a report in no folder" 2 "cannot write 'none/page.html': No such file.*name another file" "$cufence" report -o none/page.html free.db
refuses "a run in no folder" 125 "cannot create 'none/x.db.traces-.*use -o to write elsewhere" "$cufence" run -o none/x.db -- ./bare
refuses "confirm without a program" 2 "the command to run is missing: add -- CMD" "$cufence" confirm free.db 1 --
"$cufence" check --fail-on none free.db 2>err >out
same "none fails" "0 0" "$? $(wc -l <out)"
for finding in "report --finding 99 free.db" "why free.db 99"; do
	# shellcheck disable=SC2086
	"$cufence" $finding >out 2>err
	has "$finding: where they are" 'there is no finding 99 \(see "cufence report --all"\)' "$(cat err)"
done
for version in "1 load the traces again" "9999 a newer cufence made it, use that one"; do
	cp free.db other.db
	"${PYTHON:-python3}" - other.db "${version%% *}" <<'END' 2>/dev/null || break
import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version = " + sys.argv[2])
END
	refuses "a database of another version" 2 "'other.db' has schema version.*${version#* }" "$cufence" report other.db
done

# --- programs of which nothing is traced ---
"$cufence" run --sim -o nothing.db -- python3 missing.py 2>err
same "a script that is not there: status" 2 "$?"
has "a script that is not there: why" "'.*python3' exited with status 2: see its own messages" "$(cat err)"
if echo 'int main(void) { return 0; }' >static.c && ${CC:-gcc} -static static.c -o static 2>/dev/null; then
	"$cufence" run --sim -o nothing.db -- ./static 2>err
	same "a static program without CUDA: status" 0 "$?"
	has "a static program without CUDA: why" \
		"nothing was traced: it is linked statically.*link it dynamically \(without -static\)" "$(cat err)"
fi
refuses "check of a run without CUDA" 2 "'nothing.db': nothing was traced; run a program that uses CUDA" "$cufence" check nothing.db
mkdir closed && chmod 555 closed
if [ ! -w closed ]; then
	refuses "a folder for reading" 125 "cannot create 'closed/x.db.traces-.*use -o to write elsewhere" \
		"$cufence" run -o closed/x.db -- ./bare
fi
finish
