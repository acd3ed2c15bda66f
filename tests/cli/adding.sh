#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/ADDING-A-CALL.md, followed on a copy of the tree: its row is added, the recorder built, and
# the call is in the trace of a program that makes it.
. "$(dirname "$0")/lib.sh" "$@"
needs "$build/lib/libcufence.so"
root=$(cd "$(dirname "$0")/../.." && pwd)
copy=$tmp/copy
symbol=cuDriverGetVersion
row=$(sed -n "/^    DRIVER($symbol,/,/)\$/s/^    //p" "$root/doc/ADDING-A-CALL.md")

mkdir -p "$copy/tests" "$tmp/out"
cp -r "$root/Makefile" "$root/trace" "$root/machine" "$root/preload" "$root/cupti" "$root/injection" "$root/guard" \
	"$root/delay" "$root/fix" "$copy/"
cp -r "$root/tests/helpers" "$copy/tests/"
build_copy() { # GOAL...: plain, whatever this build is
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u SAN -u COVERAGE -u O \
		make -C "$copy" -j2 O=out CFLAGS=-O0 "$@" >"$tmp/log" 2>&1
}
add_row() { # TEXT: in front of the first row
	awk -v row="$1" '/^DRIVER/ && !done { print row; done = 1 } { print }' \
		"$root/trace/calls.def" >"$copy/trace/calls.def"
}

has "the page has a row" "OUT\(value, version\)" "$row"
has "passed.def has its call" "^PASSED\($symbol, " "$(cat "$root/trace/passed.def")"
same "calls.def has not" "" "$(grep "($symbol," "$root/trace/calls.def")"

add_row "${row/int \*version/long *version}"
build_copy out/obj/preload/check_calls.o
[ $? -ne 0 ] && grep -q "$symbol" "$tmp/log"
ok "a row with the wrong prototype does not compile" $?

add_row "$row"
build_copy shim out/tests/helpers/every/libcuda.so.1 out/tests/helpers/nulls
status=$?
ok "the recorder builds with it" $status
[ $status -eq 0 ] || tail -n 20 "$tmp/log" | sed 's/^/#   /'
LD_LIBRARY_PATH=$copy/out/tests/helpers/every LD_PRELOAD=$copy/out/lib/libcufence.so \
	CUFENCE_OUT=$tmp/out CUFENCE_CUPTI=off timeout 20 "$copy/out/tests/helpers/nulls" >/dev/null
ok "a program makes the call" $?
has "and it is in the trace" "^call $symbol result=0 .*\| value=0x0\$" \
	"$("$build/bin/cufence" dump "$tmp"/out/*.cft | grep "^call $symbol ")"
finish
