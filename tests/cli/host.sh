#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls outside CUDA: NVTX ranges, threads; and programs whose calls go past preloaded symbols.
. "$(dirname "$0")/lib.sh" "$@"
helpers=$build/tests/helpers
needs "$helpers/ranges" "$build/sim/libcuda.so.1" "$build/testapps/double_buffer"
cufence=$build/bin/cufence
query() { "$cufence" query "$tmp/db" "$1"; }

same "ranges: the program's output" 1 "$("$cufence" run --sim -o "$tmp/db" -- "$helpers/ranges" 2>/dev/null)"
same "ranges and marks" "here|outer|registered|wïde" \
	"$(query "SELECT name FROM range ORDER BY name" | paste -sd'|')"
same "a registered string's range holds its wait" 1 "$(query "SELECT count(*) FROM call c
	JOIN call_type t ON t.id = c.type JOIN range r ON c.enter BETWEEN r.start AND r.end
	WHERE t.name = 'cuCtxSynchronize' AND r.name = 'registered'")"
same "all ranges were closed" 0 "$(query "SELECT count(*) FROM range WHERE end IS NULL")"
same "the thread that used CUDA was made and joined" 1 "$(query "SELECT count(*) FROM thread t
	JOIN call m ON m.id = t.made_by JOIN call j ON j.id = t.joined_by WHERE m.id < j.id")"
same "the thread that did not has no row" 2 "$(query "SELECT count(*) FROM thread")"

# However a thread is made and joined, what follows the join follows what it did.
for mode in posix try timed clock c11 exit early; do
	same "threads, $mode: output" 0 "$("$cufence" run --sim -o "$tmp/db" -- "$helpers/threads" $mode 2>/dev/null)"
	has "threads, $mode: in order" '^ordered, guaranteed' "$("$cufence" why "$tmp/db" 1 2)"
	same "threads, $mode: asked often, joined once" 1 "$(query "SELECT count(*) FROM call c
		JOIN call_type t ON t.id = c.type WHERE t.kind = 'thread_join'")"
done

# Threads whose creator's memory is gone by the time that they are known.
same "detached threads: output" "0 done" \
	"$("$cufence" run --sim -o "$tmp/db" -- "$helpers/detached" 2>/dev/null | paste -sd' ')"
same "detached threads: recorded" 500 "$(query "SELECT count(*) FROM call c JOIN call_type t ON t.id = c.type
	WHERE t.name = 'pthread_create' AND c.result = 0")"

# Ranges without CUDA leave no trace, and another tool's settings are kept.
mkdir "$tmp/none"
preload=$build/lib/libcufence.so
nm -D "$preload" | grep -q __asan_init && preload="$(${CC:-gcc} -print-file-name=libasan.so) $preload"
same "another tool's injection is kept" "/other /other" "$(NVTX_INJECTION64_PATH=/other \
	CUDA_INJECTION64_PATH=/other LD_PRELOAD=$preload CUFENCE_OUT=$tmp/none \
	sh -c 'echo $NVTX_INJECTION64_PATH $CUDA_INJECTION64_PATH')"
same "without CUDA there is no trace" "" "$(ls "$tmp/none")"

# A library loaded RTLD_DEEPBIND sees no preloaded symbol: CUPTI's callbacks record its calls.
if [ -x "$build/tests/helpers/deepbind" ] && ! nm -D "$build/lib/libcufence.so" | grep -q __asan_init; then
	for how in local deepbind; do
		same "$how: output" 24 "$("$cufence" run --sim -o "$tmp/db" -- "$helpers/deepbind" \
			"$build/sim/libcudart.so.13" $how 2>"$tmp/err")"
		same "$how: every operation has its call" "2 0" "$(query "SELECT count(*) || ' ' ||
			sum(call IS NULL) FROM operation")"
	done
	has "what bypassed the wrappers is counted" '^bypassed_calls' \
		"$(query "SELECT reason FROM loss WHERE reason = 'bypassed_calls'")"
fi
finish
