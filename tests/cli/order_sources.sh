#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The order cases cite sentences of NVIDIA's headers word for word.
. "$(dirname "$0")/lib.sh" "$@"
cases=$(cd "$(dirname "$0")/../unit/order" && pwd)/order_cases.def
include=${CUDA_HOME:-/usr/local/cuda}/include

# A header, or C strings, as one line of words: comments, markup and line breaks taken off.
words() {
	sed -e 's/^[ \t]*\/\?\*\+\(\/\|[ \t]\|$\)/ /' -e 's/\\\(p\|ref\|e\|b\|a\|c\) / /g' \
		-e 's/::/ /g' -e 's/\\note//g' -e 's/<\/\?[a-z]*>/ /g' "$1" | tr -s ' \t\n' ' ' | sed 's/( /(/g'
}

# One source a line: adjacent strings joined, the last string of each case.
sources() {
	tr '\n' ' ' <"$cases" | sed 's/"[ \t]*"//g' |
		grep -oE '"(cuda|cuda_runtime_api|driver_types)\.h: [^"]*"' |
		tr -d '"' | sort -u
}
count=$(sources | wc -l)
ok "$count sentences of headers, at least 30" $([ "$count" -ge 30 ]; echo $?)
for header in cuda cuda_runtime_api driver_types; do
	[ -e "$include/$header.h" ] || continue
	words "$include/$header.h" >"$tmp/$header"
	while IFS= read -r sentence; do
		grep -qF -- "$sentence" "$tmp/$header"
		ok "$header.h says: $sentence" $?
	done < <(sources | sed -n "s/^$header\.h: //p")
done
finish
