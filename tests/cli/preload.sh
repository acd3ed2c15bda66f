#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The preloaded recorder as other programs meet it: dlsym, versions, other hooks, ASan, no CUDA.
. "$(dirname "$0")/lib.sh" "$@"
lib=$build/lib/libcufence.so
helpers=$build/tests/helpers
needs "$lib"
sim=$build/sim
asan=$(${CC:-gcc} -print-file-name=libasan.so)
own_asan=
nm -D "$lib" | grep -q __asan_init && own_asan="$asan "

# The hook hands RTLD_NEXT on as if it were not there, wherever it stands in the chain.
for order in "$lib $helpers/liblink_a.so $helpers/liblink_b.so" \
	"$helpers/liblink_a.so $lib $helpers/liblink_b.so" \
	"$helpers/liblink_a.so $helpers/liblink_b.so $lib"; do
	same "RTLD_NEXT finds the next library ($(echo "$order" | sed 's|[^ ]*/||g'))" 2 \
		"$(LD_PRELOAD="$own_asan$order" timeout 10 "$helpers/chain" 2>&1)"
done

# So does its own hook of pthread_create: another tool's sees the program's threads before it and
# after it.  (The recorder and the simulated device make some that they never join.)
threads=$build/testapps/stream_per_thread
hooked() { # PRELOAD...: "created joined", as the other hook counts
	LD_LIBRARY_PATH=$sim LD_PRELOAD="$own_asan$*" CUFENCE_OUT=$tmp/threads timeout 20 "$threads" \
		2>&1 >/dev/null | sed -n 's/^\([0-9]*\) created, \([0-9]*\) joined$/\1 \2/p'
}
if [ -x "$threads" ]; then
	read -r created joined < <(hooked "$helpers/libthreads.so")
	for order in "$lib $helpers/libthreads.so" "$helpers/libthreads.so $lib"; do
		rm -rf "$tmp/threads" && mkdir "$tmp/threads"
		read -r now_created now_joined < <(hooked "$order")
		case="another hook of pthread_create ($(echo "$order" | sed 's|[^ ]*/||g'))"
		[ "${now_created:-0}" -ge "$created" ]
		ok "$case: created" $?
		same "$case: joined" "$joined" "$now_joined"
		for call in pthread_create pthread_join; do
			same "$case: recorded $call" "$joined" \
				"$("$build/bin/cufence" dump "$tmp"/threads/*.cft | grep -c "^call $call ")"
		done
	done
fi

# The times of most queries in a loop are estimated: they still lie within the runtime's call.
queries=$build/testapps/polling_query
if [ -x "$queries" ]; then
	mkdir "$tmp/queries"
	LD_LIBRARY_PATH=$sim LD_PRELOAD="$own_asan$lib" CUFENCE_OUT=$tmp/queries timeout 20 "$queries" \
		>/dev/null 2>&1
	"$build/bin/cufence" dump "$tmp"/queries/*.cft |
		sed -n 's/^call \(cu[a-z]*\)EventQuery .*result=0 .*enter=\([0-9]*\) duration=\([0-9]*\) .*/\1 \2 \3/p' |
		awk '$1 == "cu" { enter = $2; end = $2 + $3; queries++ }
			$1 == "cuda" && $2 <= enter && $2 + $3 >= end && end > enter { within++ }
			END { print (queries > 0), (within == queries) }' >"$tmp/within"
	same "the driver's queries lie within the runtime's" "1 1" "$(cat "$tmp/within")"
fi

# Another tool that wraps CUDA calls and hooks dlsym keeps its calls, loaded before or after the recorder.
beside() { # PRELOAD... -- PROGRAM...: what the other hook counts; the trace's frees in $tmp/frees
	local preload=
	while [ "$1" != -- ]; do
		preload+=" $1"
		shift
	done
	shift
	rm -rf "$tmp/hook" && mkdir "$tmp/hook"
	LD_LIBRARY_PATH=$sim LD_PRELOAD="$own_asan$preload" CUFENCE_OUT=$tmp/hook timeout 20 "$@" \
		2>&1 >/dev/null | grep 'cudaFree,'
	"$build/bin/cufence" dump "$tmp"/hook/*.cft 2>/dev/null | grep -c '^call cuMemFree_v2 ' >"$tmp/frees"
}
hook=$helpers/libhook.so
for program in "$helpers/lifecycle exit" "$build/testapps/free_in_loop"; do
	[ -x "${program%% *}" ] || continue
	name=$(basename "${program%% *}")
	alone=$(beside "$hook" -- $program)
	has "$name: another hook of dlsym, alone" '[1-9][0-9]* cu' "$alone"
	beside "$lib" -- $program
	frees=$(cat "$tmp/frees")
	[ "$frees" -gt 20 ]
	ok "$name: frees are recorded ($frees)" $?
	same "$name: before the recorder" "$alone" "$(beside "$hook" "$lib" -- $program)"
	same "$name: before the recorder, recorded" "$frees" "$(cat "$tmp/frees")"
	same "$name: behind the recorder" "$alone" "$(beside "$lib" "$hook" -- $program)"
	same "$name: under run" "$alone" "$(LD_PRELOAD="$own_asan$hook" "$build/bin/cufence" run --sim \
		-o "$tmp/db" -- $program 2>&1 >/dev/null | grep 'cudaFree,')"
	same "$name: under run, recorded" "$frees" "$("$build/bin/cufence" query "$tmp/db" "SELECT count(*)
		FROM call JOIN call_type t ON t.id = type WHERE t.name = 'cuMemFree_v2'")"
done

# A plugin that comes and goes, with its libcudart.
if [ -e "$helpers/libplug.so" ]; then
	mkdir "$tmp/plugin"
	same "a plugin is loaded three times" "0 0 0" "$(LD_LIBRARY_PATH=$sim LD_PRELOAD="$own_asan$lib" \
		CUFENCE_OUT=$tmp/plugin timeout 20 "$helpers/reload" "$helpers/libplug.so" 2>&1 | paste -sd' ')"
	same "each time its calls are recorded" 3 \
		"$("$build/bin/cufence" dump "$tmp"/plugin/*.cft | grep -c '^call cudaMalloc ')"
fi

out=$(LD_LIBRARY_PATH=$sim LD_PRELOAD="$own_asan$lib" CUFENCE_OUT=$tmp timeout 10 "$helpers/resolve" 2>&1)
status=$?
ok "exact names, versions and flags get the right function" $status
[ $status = 0 ] || printf '%s\n' "$out" | sed 's/^/#   /'

# A program built with ASan calls dlsym before libc's own interceptors work.
if [ -e "$helpers/asan" ] && [ -z "$own_asan" ]; then
	LD_PRELOAD="$asan $lib" ASAN_OPTIONS=detect_leaks=0 timeout 10 "$helpers/asan" >/dev/null 2>"$tmp/asan"
	ok "an ASan program runs" $?
fi

# No CUDA: no file, no output, nothing changed.
mkdir "$tmp/none"
same "a program without CUDA prints the same" "$(/bin/echo hello)" \
	"$(CUFENCE_OUT=$tmp/none LD_PRELOAD="$own_asan$lib" /bin/echo hello 2>&1)"
same "a program without CUDA leaves no file" "" "$(ls "$tmp/none")"

# Code that exists nowhere else is stored, once.
mkdir "$tmp/images"
same "a program that loads PTX runs" 0 "$(LD_LIBRARY_PATH=$sim LD_PRELOAD="$own_asan$lib" \
	CUFENCE_OUT=$tmp/images timeout 10 "$helpers/images" 2>&1)"
text=$("$build/bin/cufence" dump "$tmp"/images/*.cft)
image=$(printf '%s\n' "$text" | sed -n 's/^image hash=\(0x[0-9a-f]*\) offset=0 .*/\1/p')
has "its image is stored once" '^0x[0-9a-f]+$' "$image"
same "its loads name the image" 3 "$(printf '%s\n' "$text" |
	grep -c "^call cuModuleLoadData .* image=$image\$")"
beside=$tmp/images/cufence.images
same "it lies beside the trace, by its hash" "${image#0x}" "$(ls "$beside")"
same "for its owner alone" "700 600" "$(stat -c %a "$beside" "$beside/${image#0x}" | xargs)"
same "it is the text" 1 "$(grep -c '^.visible .entry from_memory' "$beside/${image#0x}")"

# Into a folder that is not the user's own nothing is written: the trace has the image.
for folder in link open; do
	mkdir -p "$tmp/$folder" "$tmp/elsewhere"
	[ "$folder" = open ] || ln -s "$tmp/elsewhere" "$tmp/$folder/cufence.images"
	[ "$folder" = link ] || mkdir -m 777 "$tmp/$folder/cufence.images"
	LD_LIBRARY_PATH=$sim LD_PRELOAD="$own_asan$lib" CUFENCE_OUT=$tmp/$folder timeout 10 \
		"$helpers/images" >/dev/null 2>&1
	same "$folder: no image is written there" "" "$(ls "$tmp/$folder/cufence.images/")"
	same "$folder: the image is the text" "$(printf '.visible .entry from_memory' | od -An -tx1 |
		tr -d ' \n')" "$("$build/bin/cufence" dump "$tmp/$folder"/*.cft | sed -n 's/^image .* bytes=//p' |
		grep -o 2e76697369626c65202e656e7472792066726f6d5f6d656d6f7279)"
done

# The recorder runs on any glibc from 2.31.
newest=$(objdump -T "$lib" | grep 'UND' | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
[ -n "$own_asan" ] || {
	[ "$(printf '%s\nGLIBC_2.31\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.31 ]
	ok "needs no glibc newer than 2.31 ($newest)" $?
}
finish
