#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/endless.sh BUILD [NAME...]: an endless loop that a signal, _exit() or abort() ends has the
# findings of one that ends: the same rules at the same places.  Each app below is repeated (again.c).
# Every death of an app is tried with ENDLESS=all, or if it is named; else one each, and all of the
# first.  tests/gpu/endless is the same on a GPU.
. "$(dirname "$0")/lib.sh" "$@"
apps="free_in_loop free_array_in_loop free_host_in_loop memset_pinned copy_in_pipeline custom_streams device_sync_for_event late_event legacy_between_streams legacy_event_record missing_fence_raw missing_fence_war late_fence host_buffer_reuse module_load_in_loop pageable_async_copy repeated_sync scratch_per_step sync_between_streams uploads_per_step full_launch_queue launches_behind_free graph_dependency accidental_order"
deaths=(INT TERM KILL _exit abort)
# On the simulator 0.4 s are 50 and more turns of an app; on a GPU starting CUDA takes half a second.
turns=20 ms=400 options=--sim
[ -z "${ENDLESS_GPU:-}" ] || turns=20 ms=3000 options=
cufence=$build/bin/cufence
shift
needs "$cufence" "$build/lib/libcufence.so" "$build/testapps/free_in_loop_again"
cd "$tmp" || exit 1

run() { # NAME WORD...: runs NAME_again with these words; $findings are the rules and places
	local name=$1
	shift
	rm -f app.db*
	timeout 120 "$cufence" run $options -o app.db -- "$build/testapps/${name}_again" "$@" >out 2>report
	status=$?
	findings=$("$cufence" query app.db expect | sed 's/ \(certain\|likely\|possible\) / /' | sort)
}

check() { # NAME DEATH...
	local name=$1 wanted death
	shift
	run "$name" "$turns"
	wanted=$findings
	same "$name: exit status" 0 "$status"
	[ -n "$wanted" ]
	ok "$name: has findings" $?
	for death in "$@"; do
		run "$name" 0 "$death" "$ms"
		[ "$status" -gt 0 ] && [ "$status" -ne 124 ]
		ok "$name, $death: ended by it" $?
		same "$name, $death: findings of the loop that ends" "$wanted" "$findings"
		same "$name, $death: the report says how much is unknown" "" \
			"$(grep 'last device operations\|may be missing' report)"
		[ "$death" != _exit ] && [ "$death" != abort ] || grep -q 'operations of the last\|are unknown' report &&
			echo "note: $name, $death: $(grep -o '.*are unknown' report)"
	done
}

if [ $# -gt 0 ] || [ "${ENDLESS:-}" = all ]; then
	for name in ${*:-$apps}; do
		check "$name" "${deaths[@]}"
	done
	finish
fi
number=0
for name in $apps; do
	if [ $number -eq 0 ]; then
		check "$name" "${deaths[@]}" _Exit
	else
		check "$name" "${deaths[number % 5]}"
	fi
	number=$((number + 1))
done
finish
