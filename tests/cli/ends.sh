#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A context's objects are destroyed with it; later addresses and handles are new ones.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
helper=$build/tests/helpers/ends
needs "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1
export CUFENCE_SIM_DEVICES=2

run() { # MODE: its output is that of the program alone
	same "$1: output" "$(LD_LIBRARY_PATH=$build/sim timeout 60 "$helper" "$1")" \
		"$(timeout 60 "$cufence" run --sim -o db -- "$helper" "$1" 2>err)"
	same "$1: nothing is missing" "" "$(grep incomplete err | grep -v '^    accesses')"
}

ask() { # SQL: its rows in one line
	"$cufence" query db "$1" | paste -sd' '
}

for mode in destroy reset; do
	run $mode
	has "$mode: a handle came again" 'the handle came again' "$(LD_LIBRARY_PATH=$build/sim "$helper" $mode)"
	same "$mode: and is another kernel" "wide narrow" \
		"$(ask "SELECT k.name FROM call c JOIN kernel k ON k.id = c.kernel WHERE c.grid ORDER BY c.id")"
done
# The other device's memory, then what the reset ended, then what there was at the end.
same "reset: what was freed" "0 1 1 0 0" "$(ask "SELECT freed IS NOT NULL FROM allocation ORDER BY id")"
same "reset: streams and events" "1 0 1 0" "$(ask "SELECT destroyed IS NOT NULL FROM stream WHERE created
	UNION ALL SELECT destroyed IS NOT NULL FROM event")"

run release
has "release: the streams are in order" '^ordered, guaranteed' "$("$cufence" why db 1 2)"
same "release: the last one ends it" 1 "$(ask "SELECT count(*) FROM call c JOIN allocation a ON a.freed = c.id
	JOIN call_type t ON t.id = c.type WHERE t.name LIKE 'cuDevicePrimaryCtxRelease%'")"

run leaks

run unloads
same "unloads: each launch has its kernel" "narrow 45 wide 55" "$(ask "SELECT k.name || ' ' || count(*) FROM call c
	JOIN kernel k ON k.id = c.kernel WHERE c.grid GROUP BY k.name")"
"$cufence" run --sim --keep-trace -o kept.db -- "$helper" unloads >/dev/null 2>&1
said=$("$cufence" dump kept.db.traces-*/*.cft | grep '^function ')
shared=$(sed -n 's/^function handle=\([^ ]*\) .*narrow.*/\1/p' <<<"$said" | head -n 1)
# Once at its first launch, and once more for its local memory.
same "unloads: a kernel that stays is described once" 2 "$(grep -vc "handle=$shared " <<<"$said")"
same "unloads: a handle is, for each kernel that it becomes" 20 "$(grep -c "handle=$shared " <<<"$said")"
finish
