#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The machine code of kernels that nvcc has just compiled, and of a share of those in libraries of
# the toolkit, decodes: no opcode is unknown, no jump has a wrong target.  "make check-libraries" decodes
# all of the toolkit's.
. "$(dirname "$0")/lib.sh" "$@"
decode=$build/tests/libraries/decode
needs "$decode"
home=${CUDA_HOME:-/usr/local/cuda}

decodes() { # NAME SHARE FILE...
	local name=$1 share=$2 status
	shift 2
	"$decode" -s "$share" "$@" >"$tmp/decoded" 2>&1
	status=$?
	[ $status -eq 0 ] || tail -n 5 "$tmp/decoded"
	grep -q '^[1-9][0-9]* files, [1-9][0-9]* cubins, [1-9]' "$tmp/decoded" || status=1
	ok "$name decodes" $status
}

own=("$build"/obj/kernels/*.o)
[ -e "${own[0]}" ] && decodes "kernels of our own" 1 "${own[@]}"
for library in cublas cudnn_ops curand; do
	file=$(readlink -f "$home/lib64/lib$library.so")
	[ -f "$file" ] && decodes "lib$library" 20 "$file"
done

"$decode" "$tmp/none" >/dev/null 2>&1
[ $? -eq 1 ]
ok "a file that is not there is told" $?
finish
