#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "make demo" in a new folder compiles what it runs, and it prints a finding.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
needs "$build/testapps/free_in_loop" "$build/sim/libcuda.so.1"
same "compiled" "analyzer cupti guard hold image injection kernels/accumulate.cu kernels/stencil.cu machine preload ptx sim testapps/free_in_loop.cu trace" \
	"$(env -u MAKEFLAGS -u MAKELEVEL make -n -C "$root" O="$tmp/build" CUDA_O="$tmp/build" \
		SAN= demo | grep -oE ' -c [a-z][^ ]*' |
		sed -E 's/^ -c //; s|^([^/]*)/.*\.[cS]$|\1|' | sort -u | paste -sd ' ')"
got=$("$root/tests/demo" "$build" 2>&1)
same "its exit status" 0 "$?"
has "a finding" '^blocking-free: cudaFree waited' "$got"
has "and a query" '^cudaFree	' "$got"
finish
