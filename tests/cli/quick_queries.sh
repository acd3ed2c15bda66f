#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Queries of a kernel's attributes that are quick are counted only; those that take long, as one that
# loads the kernel, are recorded, and so is one that never returns.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
calls=$build/bench/micro_calls
needs "$cufence" "$build/lib/libcufence.so" "$calls" "$build/bench/stub/libcuda.so.1"
asan=
sanitized && asan="$(${CC:-gcc} -print-file-name=libasan.so) "
cd "$tmp" || exit 1
query() { "$cufence" query run.db "$1"; }
counted() { query "SELECT ifnull(sum(value), 0) FROM property WHERE name = 'quick_queries'"; }

stub() { # NS: 1280 queries, each of which takes so long
	rm -rf run.db* out && mkdir out && echo attribute >out/ask
	CUFENCE_MODE=host CUFENCE_OUT=$tmp/out LD_PRELOAD="$asan$build/lib/libcufence.so" STUB_NS=$1 \
		LD_LIBRARY_PATH=$build/bench/stub "$calls" -s out &
}

# Those that other programs delay, or that end a gap of 20 us, are recorded.
stub 0
wait
"$cufence" load out/*.cft -o run.db
recorded=$(query "SELECT count(*) FROM call c JOIN call_type t ON t.id = c.type
	WHERE t.name = 'cuKernelGetAttribute'")
counted=$(counted)
same "quick: each was recorded or counted" 1280 $((recorded + counted))
[ "$counted" -gt 500 ]
ok "quick: most were counted ($counted)" $?
same "quick: none is lost" "host_only" "$(query 'SELECT reason FROM loss')"
same "quick: none seems to hang" 0 "$(query 'SELECT count(*) FROM call WHERE exit IS NULL')"

stub 3000
wait
"$cufence" load out/*.cft -o run.db
same "slow: each is recorded, with its context" "1280 1280 0" "$(query "SELECT count(*), count(context),
	(SELECT count(*) FROM property WHERE name = 'quick_queries') FROM call c
	JOIN call_type t ON t.id = c.type WHERE t.name = 'cuKernelGetAttribute'" | tr '\t' ' ')"

# It is killed in the query, which would take five minutes.
stub 300000000000
until [ -n "$(ls out/*.cft 2>/dev/null)" ] && "$cufence" dump out/*.cft 2>/dev/null | grep -q '^enter'; do
	sleep 0.1
done
kill -KILL $!
wait $! 2>/dev/null
"$cufence" load out/*.cft -o run.db
same "endless: it is in the record" cuKernelGetAttribute "$(query "SELECT t.name FROM call c
	JOIN call_type t ON t.id = c.type WHERE exit IS NULL")"

# The first query of a kernel loads it.
needs "$build/testapps/lazy_query_serializes" "$build/sim/libcuda.so.1"
timeout 60 "$cufence" run --sim -o run.db -- "$build/testapps/lazy_query_serializes" >/dev/null 2>&1
same "a load: is recorded with its time" "1 1" "$(query "SELECT count(*) > 0, min(o.end - o.start <= c.exit - c.enter)
	FROM overhead o JOIN call c ON c.id = o.call JOIN call_type t ON t.id = c.type
	WHERE o.kind = 'lazy_loading' AND t.kind = 'function_query'" | tr '\t' ' ')"
[ "$(counted)" -gt 0 ]
ok "a load: queries after it are counted" $?
finish
