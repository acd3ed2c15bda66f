#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/endless.sh BUILD [NAME...]: an endless loop that a signal, _exit() or abort() ends has the
# findings of one that ends: the same rules at the same places.  The apps of endless.apps are repeated
# (testapps/again.c).  Without names each app has one death, the first has all, also with a flush
# period.  By default CUPTI delivers full buffers only: a signal loses what the last one held.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
apps=$here/../../testapps
deaths=(INT TERM KILL _exit abort)
turns=10 options=--sim
[ -z "${ENDLESS_GPU:-}" ] || options=
cufence=$build/bin/cufence
shift
needs "$cufence" "$build/lib/libcufence.so" "$build/testapps/free_in_loop_again"
cd "$tmp" || exit 1
unset CUFENCE_FLUSH_MS

run() { # NAME WORD...: runs NAME_again with these words; $findings are its rules and places
	local name=$1
	shift
	rm -f app.db*
	timeout 120 "$cufence" run $options -o app.db -- "$build/testapps/${name}_again" "$@" >out 2>report
	status=$?
	# What each repetition prints is no part of the app: the wait before costs about the least.
	findings=$("$cufence" query app.db expect | sed 's/ \(certain\|likely\) / /; / print_device:/d' | sort)
}

check() { # NAME DEATH...
	local name=$1 wanted death unknown ms
	shift
	run "$name" "$turns"
	wanted=$findings
	same "$name: exit status" 0 "$status"
	# Those whose mistake was fixed, or who made none, have findings of the repetition at most.
	[ -n "$wanted" ] || [[ $name = *_fixed ]] || ! grep -q '^[a-z]' "$apps/$name.expect"
	ok "$name: has findings" $?
	for death in "$@"; do
		# These two write everything; after a signal there is what CUPTI's thread has delivered.
		ms=2
		[ "$death" = _exit ] || [ "$death" = abort ] || ms=400
		# What a wait costs is measured, and CUPTI's thread has 0.4 s: on a busy machine a run may see no
		# wait, or lose more.  Three runs may try.
		for _ in 1 2 3; do
			run "$name" "$turns" "$death" "$ms"
			[ "$status" -gt 0 ] && [ "$status" -ne 124 ] || break
			unknown=$("$cufence" query app.db \
				"SELECT count FROM loss WHERE reason LIKE 'unknown%' AND count > 1e9")
			[ "$findings" != "$wanted" ] || [ -n "$unknown" ] || break
		done
		[ "$status" -gt 0 ] && [ "$status" -ne 124 ]
		ok "$name, $death: ended by it" $?
		same "$name, $death: findings of the loop that ends" "$wanted" "$findings"
		# _exit() outside of a call is an end in order.
		[ "$death" = _exit ] ||
			has "$name, $death: the report says that it died" 'exited abnormally: calls in progress' "$(cat report)"
		# By these nothing was to be lost but what was in progress: the last turn at most.
		if [ "$death" = _exit ] || [ "$death" = abort ]; then
			same "$name, $death: what is unknown" "" "$unknown"
		fi
	done
}

if [ $# -gt 0 ]; then
	for name in "$@"; do
		check "$name" "${deaths[@]}"
	done
	finish
fi
number=0
while read -r name; do
	if [ $number -eq 0 ]; then
		check "$name" "${deaths[@]}"
		CUFENCE_FLUSH_MS=100 check "$name" KILL
	else
		check "$name" "${deaths[number % 5]}"
	fi
	number=$((number + 1))
done < <(grep "^[a-z]" "$here/endless.apps")
finish
