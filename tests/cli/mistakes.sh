#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What users get wrong, and machines: files that are something else, odd names, output that cannot
# be written, closed streams.  A message says so, nothing that was there is lost.
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
refuses "load of a database" 2 "'free.db': not a cufence trace" "$cufence" load free.db -o x.db
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
refuses "report onto itself" 2 "'./free.db' is the database" "$cufence" report free.db -o ./free.db
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
for arguments in "report free.db" "report --format json free.db" "check free.db" "query free.db calls" \
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
	has "load on a full disk: nothing is left" "^status 2 free.cft$" "$said"
	has "load in a folder for reading: why" "cannot create 'cufence.db.tmp-[0-9]+': Read-only" "$said"
	has "run in a folder for reading: why" "cannot create 'cufence.db.traces-\w+': Read-only" "$said"
	[ ! -e ran ]
	ok "run in a folder for reading: did not run" $?
fi

# --- programs ---
printf '#!/no/such/shell\n' >headed
printf 'echo ran\n' >bare
chmod +x headed bare
"$cufence" run -- ./headed 2>err
same "a script without its interpreter: status" 127 "$?"
has "a script without its interpreter: why" "'./headed': No such file.*its interpreter is missing" "$(cat err)"
"$cufence" run -- headed 2>err
same "not in PATH" "cufence: cannot run 'headed': No such file or directory; it is not in PATH: add ./ for the file in this folder" "$(cat err)"
same "a script without a first line" ran "$("$cufence" run -- ./bare 2>/dev/null)"
"$cufence" run -- . 2>err
same "a folder" 126 "$?"
finish
