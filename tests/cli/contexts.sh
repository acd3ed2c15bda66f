#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The record of a call has the context that was current, however it became so, and calls into
# streams do not ask the driver each time.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
helper=$build/tests/helpers/contexts
calls=$build/bench/micro_calls
needs "$cufence" "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1
query() { "$cufence" query run.db "$1"; }

for how in "" --profiler; do
	"$cufence" run --sim -o run.db $how -- "$helper" >said 2>err
	same "${how:-all}: 28 calls" 28 "$(wc -l <said)"
	same "${how:-all}: the contexts" "$(paste -sd' ' said)" "$(query "SELECT
		printf('0x%x', ifnull(x.handle, 0)) FROM call c JOIN call_type t ON t.id = c.type
		LEFT JOIN context x ON x.id = c.context WHERE t.name = 'cuMemsetD8Async'
		ORDER BY c.id" | paste -sd' ')"
done

# 1280 launches, and a wait after each 128.
needs "$calls" "$build/bench/stub/libcuda.so.1"
asan=
sanitized && asan="$(${CC:-gcc} -print-file-name=libasan.so) "
mkdir out && echo launch >out/ask
asked=$(STUB_ASKED=1 CUFENCE_MODE=host CUFENCE_OUT=$tmp/out LD_LIBRARY_PATH=$build/bench/stub \
	LD_PRELOAD="$asan$build/lib/libcufence.so" "$calls" -s out 2>&1 >said)
"$cufence" load out/*.cft -o run.db
same "launches: recorded, with the context" "1280 1280" "$(query "SELECT count(*), count(context)
	FROM call c JOIN call_type t ON t.id = c.type WHERE t.name = 'cuLaunchKernel'" | tr '\t' ' ')"
[ "$asked" -lt 100 ]
ok "launches: the context is asked for now and then ($asked)" $?
finish
