#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/apps.sh BUILD: every test app and its fixed twin on the simulated device, with a shared
# and with a static runtime: traced, each prints and returns what it does untraced, and has the
# findings of its .expect file and no others; a twin and a clean program have none.  Findings of rules
# that do not exist yet are listed.
. "$(dirname "$0")/lib.sh" "$@"
apps=$(cd "$(dirname "$0")/../../testapps" && pwd)
cufence=$build/bin/cufence
needs "$cufence" "$build/sim/libcuda.so.1"
export CUFENCE_SIM_DEVICES=2

check_app() { # NAME EXPECT-FILE|/dev/null
	local program=$build/testapps/$1 db=$tmp/$1.db bare traced status
	if [ ! -x "$program" ]; then
		ok "$1: is built" 1
		return
	fi
	bare=$(LD_LIBRARY_PATH=$build/sim timeout 20 "$program" 2>&1)
	status=$?
	same "$1: runs" 0 "$status"
	traced=$(timeout 60 "$cufence" run --sim -o "$db" -- "$program" 2>"$tmp/report")
	status=$?
	same "$1: exit status" 0 "$status"
	[ "$status" -eq 0 ] || sed 's/^/#   /' "$tmp/report" | head -n 20
	same "$1: output" "$bare" "$traced"
	same "$1: findings" "$(expected "$2")" "$("$cufence" query "$db" expect | sort)"
	same "$1: every operation has its call" "" "$("$cufence" query "$db" unmatched)"
}

for source in "$apps"/*.cu; do
	name=$(basename "$source" .cu)
	[ -e "$apps/$name.expect" ]
	ok "$name: has an .expect file" $?
	for variant in "" _simstatic; do
		check_app "$name$variant" "$apps/$name.expect"
		grep -qw FIXED "$source" && check_app "${name}_fixed$variant" /dev/null
	done
done
not_yet
finish
