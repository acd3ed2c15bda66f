#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "make demo" in a new folder compiles what it runs, and it prints a finding.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
needs "$build/testapps/free_in_loop" "$build/sim/libcuda.so.1"
same "compiled" "analyzer cupti delay fatbin fix guard injection kernels/accumulate.cu kernels/stencil.cu machine preload ptx sass sim testapps/free_in_loop.cu trace" \
	"$(env -u MAKEFLAGS -u MAKELEVEL make -n -C "$root" O="$tmp/build" CUDA_O="$tmp/build" \
		SAN= demo | grep -oE '( -c [a-z][^ ]*|launches\.sed testapps/[a-z_]*\.cu )' |
		sed -E 's/ $//; s/^.* //; s|^([^/]*)/.*\.[cS]$|\1|' | sort -u | paste -sd ' ')"
got=$("$root/tests/demo" "$build" 2>&1)
same "its exit status" 0 "$?"
has "a finding" '^blocking-free: cudaFree waited' "$got"
has "and a query" '^cudaFree	' "$got"
# What it names may be used afterwards: the second command, and the one that the report ends with.
again=$(sed -n 's/^\$ \(.* query .*\)/\1/p' <<<"$got")
same "the query's command" "$(sed -n '/^\$ .* query /,$p' <<<"$got" | tail -n +2)" "$(eval "$again")"
database=$(sed -n 's/^one finding with its timeline: cufence report --finding NUMBER //p' <<<"$got")
has "the report's command" '^blocking-free: ' "$("$build/bin/cufence" report --finding 1 "$database")"
named=$(sed -n 's/^\$ .* run .* -- \([^ ]*\) .*/\1/p' <<<"$got")
[ -x "$named" ]
ok "the program that it names is there: $named" $?
finish
