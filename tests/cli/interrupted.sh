#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A load that is stopped leaves the database that was there, or a complete new one; nothing between.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1
"$cufence" undump "$here/../golden/double_buffer.txt" -o one.cft
ok "undump" $?
many=100 traces=()
for ((i = 0; i < many; i++)); do traces+=(one.cft); done
microseconds() { echo $(($(date +%s%N) / 1000)); }
# The shortest of three: beside other work one may take several times as long as those to be stopped.
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
[ "$stopped" -ge 4 ]
ok "$stopped loads were stopped, $replaced were not" $?
finish
