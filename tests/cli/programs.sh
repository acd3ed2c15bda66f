#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that "cufence run" meets: scripts, launchers, ASan, and those that cannot be traced.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
helper=$build/tests/helpers/lifecycle
needs "$build/lib/libcufence.so" "$helper" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1
own_asan=$(nm -D "$build/lib/libcufence.so" | grep __asan_init)

run() { # WANTED_STATUS TEXT ARGUMENT...
	local wanted=$1 text=$2
	shift 2
	"$cufence" run --sim -o db "$@" >out 2>err
	same "$text" "$wanted" "$?"
}

traces() { # TEXT WANTED: frees by process
	same "$1: what is traced" "$2" "$("$cufence" query db "SELECT count(*) FROM call JOIN
		call_type t ON t.id = type WHERE t.name = 'cuMemFree_v2' GROUP BY process" | paste -sd' ')"
}

# Never: refused before anything runs.
refused() { # TEXT PATTERN FILE
	run 125 "$1" -- "$3"
	has "$1: the reason" "cannot be traced: .*$2" "$(cat err)"
	same "$1: it did not run" "" "$(cat out)"
}
cat >uses.c <<-'END'
	#include <stdio.h>
	int main(void) { puts("libcuda.so.1"); return 0; }
END
cat >plain.c <<-'END'
	#include <unistd.h>
	int main(int argc, char **argv) { execvp(argv[1], argv + 1); return 1; }
END
cc=${CC:-gcc}
if $cc -static uses.c -o static 2>/dev/null && $cc -static plain.c -o launcher 2>/dev/null; then
	refused "static" "linked statically" ./static
	$cc -static-pie -fPIE uses.c -o static_pie 2>/dev/null && refused "static PIE" "linked statically" ./static_pie
	run 3 "a static launcher runs" -- ./launcher "$helper" _exit
	has "but it is said" "'./launcher' is linked statically: only programs that it starts" "$(cat err)"
	traces "a static launcher" 101
fi
$cc uses.c -o dynamic
sed 's|/lib64/ld-linux-x86-64.so.2|/lib/ld-musl-x86_64.so.1\x00\x00\x00|' dynamic >musl
chmod +x musl
refused "musl" "for musl" ./musl
cp dynamic other
printf '\xb7' | dd of=other bs=1 seek=18 conv=notrunc 2>/dev/null # e_machine: AArch64
refused "another machine" "not a 64-bit x86-64 program" ./other
if [ "$(id -u)" = 0 ]; then
	cp dynamic setuid && chown 65534 setuid && chmod 4755 setuid
	refused "set-user-id" "gains rights" ./setuid
	printf '#!%s\n' "$tmp/setuid" >script && chmod +x script
	refused "a script of such" "gains rights" ./script
fi
run 0 "the loader itself" -- /lib64/ld-linux-x86-64.so.2 "$helper" exit
traces "the loader itself" 101

# Scripts, launchers and programs by name.
printf '#!/bin/sh\n"$@" exit && "$@" _exit\n' >script && chmod +x script
run 3 "a script" -- ./script "$helper"
traces "a script" "101 101"
PATH=$(dirname "$helper"):$PATH run 0 "a program by name" -- lifecycle exit
traces "a program by name" 101
run 0 "a script without interpreter" -- sh "$(printf 'exec "$1" exit\n' >plain.sh; echo plain.sh)" "$helper"

# An environment (conda's) whose libstdc++ and libgcc are not the system's.
app=$build/testapps/free_in_loop
if [ -x "$app" ] && [ -z "$own_asan" ]; then
	mkdir env
	cp "$($cc -print-file-name=libgcc_s.so.1)" "$($cc -print-file-name=libstdc++.so.6)" env
	run 0 "libraries of an environment's own" -- env LD_LIBRARY_PATH="$tmp/env:$build/sim" "$app"
	has "are those that are used" "=> $tmp/env/libgcc_s" \
		"$(LD_LIBRARY_PATH=$tmp/env LD_TRACE_LOADED_OBJECTS=1 "$app")"
	same "and the findings are the same" "blocking-free certain free_scratch:22 -> launch_accumulate:33" \
		"$("$cufence" query db expect)"
fi

# ASan's runtime comes first, whether it is the program's or the user's.
if [ -e "${helper%/*}/asan_lifecycle" ] && [ -z "$own_asan" ]; then
	export ASAN_OPTIONS=detect_leaks=0
	run 0 "an ASan program" -- "${helper%/*}/asan_lifecycle" exit
	traces "an ASan program" 101
	if [ -e "${helper%/*}/asan_ranges" ]; then
		run 0 "an ASan program with threads" -- "${helper%/*}/asan_ranges"
		same "ASan's pthread_create comes before ours" 1 "$("$cufence" query db \
			"SELECT count(*) FROM thread WHERE made_by NOT NULL AND joined_by NOT NULL")"
	fi
	asan=$($cc -print-file-name=libasan.so)
	LD_PRELOAD=$asan run 3 "the user's own ASan" -- ./script "${helper%/*}/asan_lifecycle"
	LD_PRELOAD=$asan:$build/tests/helpers/liblink_a.so run 0 "and other preloads" -- sh -c 'echo $LD_PRELOAD'
	same "stay in order" "$asan:$build/tests/helpers/liblink_a.so:$(realpath "$build/lib/libcufence.so")" "$(cat out)"
fi
finish
