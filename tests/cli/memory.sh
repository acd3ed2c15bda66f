#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command that lacks memory says so, exits with 2 and leaves no file; "run" exits as its program did
# and names the traces that it keeps.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
nm "$cufence" 2>/dev/null | grep -q __asan_init && finish # needs terabytes of addresses
mkdir "$tmp/work" && cd "$tmp/work" || exit 1
golden_text tiny_kernels >"$tmp/in.txt"
"$cufence" undump "$tmp/in.txt" -o "$tmp/in.cft" 2>/dev/null

# From too little for the program itself to enough.
limits() {
	seq 8000 1000 30000
	seq 32000 4000 400000
}

lacked=0
for limit in $(limits); do
	said=$(ulimit -Sv "$limit" && "$cufence" load "$tmp/in.cft" -o x.db 2>&1)
	status=$?
	case $status:$said in
	0:*) break ;;
	127:*) continue ;; # the dynamic linker's
	2:*"cufence: out of memory") lacked=$((lacked + 1)) ;;
	2:*": Cannot allocate memory"*) ;; # of a file
	*) same "load with $limit KiB says so" "2: out of memory" "$status: $said" ;;
	esac
	same "load with $limit KiB leaves nothing" "" "$(ls -A)"
done
same "load with enough" 0 "$status"
[ "$lacked" -gt 0 ]
ok "load lacked memory with some" $?

app=$build/testapps/tiny_kernels
[ -x "$app" ] && [ -e "$build/sim/libcuda.so.1" ] || finish
rm -rf ./*
lacked=0
for limit in $(limits); do
	# The program itself has all it needs.
	said=$(ulimit -Sv "$limit" && "$cufence" run --sim -o x.db -- \
		sh -c 'ulimit -Sv unlimited; "$0" >&2 && touch ran; exit 3' "$app" 2>&1)
	status=$?
	[ -e ran ] && [ ! -e x.db ] || { # lacked memory before, or only for the report
		[ -e x.db ] && [ "$(tail -n 1 <<<"$said")" != "cufence: out of memory" ] && break
		rm -rf ./*
		continue
	}
	same "run with $limit KiB: the program's status" 3 "$status"
	same "run with $limit KiB: no half database" "" "$(ls -A | grep -v '^ran$\|\.traces-')"
	if grep -qx "cufence: out of memory" <<<"$said"; then
		lacked=$((lacked + 1))
		kept=$(sed -n 's/^cufence: the traces are kept.*; to load them: cufence load //p' <<<"$said")
		[ -n "$kept" ] && eval "$cufence load $kept" && [ -e x.db ]
		ok "run with $limit KiB: the line that names the traces loads them" $?
	fi
	rm -rf ./*
done
same "run with enough: status" 3 "$status"
[ "$lacked" -gt 0 ]
ok "run lacked memory with some" $?
finish
