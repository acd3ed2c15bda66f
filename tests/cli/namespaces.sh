#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program with CUDA in link namespaces of its own (dlmopen) has as many of them as without the
# recorder; what runs there is not recorded, and that is said.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
helper=$build/tests/helpers/namespaces
needs "$cufence" "$helper" "$build/lib/libcufence-injection.so" "$build/sim/libcuda.so.1"
sanitized && finish # the sanitizer's library cannot be loaded twice
cd "$tmp" && mkdir threads || exit 1

same "what is loaded there has no thread-local storage" 0 \
	"$(readelf -lW "$build/lib/libcufence-injection.so" | grep -c '^ *TLS ')"

# The loader has static thread-local storage for three more namespaces, unless it is told.
for room in 4 16; do
	export GLIBC_TUNABLES=glibc.rtld.nns=$room
	bare=$(LD_LIBRARY_PATH=$build/sim timeout 60 "$helper" 12 here 2>&1)
	count=$(echo "$bare" | grep -c '^there: 0 0 0 0 0 0 0, ')
	[ "$count" -gt 5 ]
	ok "room for $room: the simulated device runs in $count namespaces" $?
	same "room for $room: output" "$bare" \
		"$("$cufence" run --sim -o run.db -- "$helper" 12 here 2>report)"
	has "room for $room: the report says so" "incomplete: CUDA was used in $count other link namespaces" \
		"$(cat report)"
	same "room for $room: lost" "other_namespaces $count" "$("$cufence" query run.db \
		"SELECT reason || ' ' || count FROM loss")"
	same "room for $room: the program's own namespace is recorded" "2 2 2" "$("$cufence" query run.db \
		"SELECT sum(t.name = 'cuInit') || ' ' || sum(t.name = 'cuMemAlloc_v2') || ' ' ||
		sum(t.name = 'cuMemsetD8_v2') FROM call c JOIN call_type t ON t.id = c.type")"
	same "room for $room: as one process" 1 "$("$cufence" query run.db "SELECT count(*) FROM process")"

	same "room for $room: no CUDA elsewhere: output" "$(echo "$bare" | grep there)" \
		"$("$cufence" run --sim -o none.db -- "$helper" 12 2>report)"
	same "room for $room: no CUDA elsewhere: said once" 1 \
		"$(grep -c 'CUDA is used in a link namespace of its own' report)"
	has "room for $room: no CUDA elsewhere: no trace" "nothing was traced" "$(cat report)"
done

# Keys of several C libraries share their values; threads that end leave their window to others.
bare=$(LD_LIBRARY_PATH=$build/sim timeout 60 "$helper" 3 here threads 2>&1)
same "threads: the simulated device runs" "0 40" "$? $(echo "$bare" | grep -c ': 0 0 0 0 0 0 0, ')"
same "threads: output" "$bare" "$(LD_PRELOAD=$build/lib/libcufence.so CUFENCE_OUT=$tmp/threads \
	LD_LIBRARY_PATH=$build/sim timeout 60 "$helper" 3 here threads 2>&1)"
count=$("$cufence" dump threads/*.cft | grep -c '^chunk ')
[ "$count" -lt 6 ]
ok "threads: $count windows for eight threads" $?
finish
