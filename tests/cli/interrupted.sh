#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A load that is stopped leaves the database that was there, or a complete new one; nothing between.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
golden_text double_buffer >double_buffer.txt
"$cufence" undump double_buffer.txt -o one.cft
ok "undump" $?
many=100 traces=()
for ((i = 0; i < many; i++)); do # each another process
	sed "1s/ pid=[0-9]*/ pid=$((i + 2))/" double_buffer.txt |
		"$cufence" undump - -o "$i.cft"
	traces+=("$i.cft")
done
microseconds() { echo $(($(date +%s%N) / 1000)); }
# The shortest of three: under load one may take several times as long as those to be stopped.
took=0
for _ in 1 2 3; do
	rm -f long.db
	begin=$(microseconds)
	"$cufence" load "${traces[@]}" -o long.db
	ok "load" $?
	now=$(($(microseconds) - begin))
	[ "$took" -gt 0 ] && [ "$took" -lt "$now" ] || took=$now
done

stopped=0 replaced=0
for ((i = 1; i <= 15; i++)); do
	signal=(TERM HUP KILL)
	signal=${signal[i % 3]}
	rm -f cufence.db*
	"$cufence" load one.cft
	"$cufence" load "${traces[@]}" 2>err &
	pid=$!
	sleep "$(awk -v t="$took" -v i="$i" 'BEGIN { printf "%.4f", t * i / 14 / 1e6 }')"
	kill -"$signal" "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	status=$?
	processes=$("$cufence" query cufence.db 'SELECT count(*) FROM process')
	case $status:$processes in
	129:1 | 143:1)
		same "$signal at $i/14 says so" "cufence: interrupted" "$(grep -v '^$' err | tail -n 1)"
		stopped=$((stopped + 1)) ;;
	137:1) stopped=$((stopped + 1)) ;;
	*:"$many") replaced=$((replaced + 1)) ;;
	*) same "$signal at $i/14: one or the other" "old or new" "status $status, $processes processes" ;;
	esac
	same "$signal at $i/14: the database is whole" "ok" \
		"$("$cufence" query cufence.db 'PRAGMA integrity_check')"
	[ "$signal" = KILL ] && "$cufence" load one.cft # removes what it finds
	same "$signal at $i/14: nothing is left" "" "$(ls | grep tmp-)"
done
# Wherever it is, in a library that does not return as well: here libelf, reading a program's symbols.
cat >stuck.c <<'END'
#include <unistd.h>
void *elf_begin(void) { write(1, "stuck\n", 6); for (;;) pause(); }
END
# The file looks like the traced one: it is older than the trace.
cp "$cufence" program && touch -d 2020-01-01 program
sed "/^symbol/d; s|^\(module.*\) build_id=.*text=\"build/.*|\1 text=\"$PWD/program\"|" \
	double_buffer.txt >stuck.txt
if ldd "$cufence" | grep -q libelf && ! sanitized && "$cufence" undump stuck.txt -o stuck.cft &&
	${CC:-gcc} -w -shared -fPIC stuck.c -o stuck.so; then
	mkfifo out
	for signal in INT TERM HUP; do
		# timeout(1) takes back that a shell's background ignores SIGINT.
		LD_PRELOAD=$PWD/stuck.so timeout -s KILL 20 "$cufence" load stuck.cft -o stuck.db >out 2>err &
		read -r word <out
		same "$signal: stuck in a library" stuck "$word"
		kill -"$signal" $! # which it passes on
		wait $! 2>/dev/null
		status=$?
		same "$signal stops it" "$((128 + $(kill -l $signal)))" $status
		same "$signal: it says so" "cufence: interrupted" "$(grep -v Killed err)"
		same "$signal: nothing is left" "" "$(ls | grep stuck.db)"
	done
fi

[ "$stopped" -ge 4 ]
ok "$stopped loads were stopped, $replaced were not" $?
finish
