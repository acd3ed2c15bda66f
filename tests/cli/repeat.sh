#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/cli/repeat.sh BUILD: on the simulated device a program with one host thread leaves the same
# trace every time, but for the numbers that the system gives to processes and threads.  With several
# threads, each makes the same calls from the same places every time, and each stream does the same.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
apps=$(cd "$(dirname "$0")/../../testapps" && pwd)
needs "$cufence" "$build/sim/libcuda.so.1" "$build/lib/libcufence.so"
export CUFENCE_SIM_DEVICES=2
sanitized && { echo "where ASan puts memory depends on what other threads do"; finish; }
# With addresses chosen anew in each run no two traces could be the same.
setarch -R true 2>/dev/null || { echo "addresses cannot be fixed here"; finish; }
preload=$build/lib/libcufence.so

trace() { # FILE PROGRAM [SECONDS]: gets its normalized trace; stopped for so long a few times
	local process stops=0
	rm -rf "$tmp/out" && mkdir "$tmp/out"
	CUFENCE_OUT=$tmp/out LD_LIBRARY_PATH=$build/sim LD_PRELOAD="$preload" \
		setarch -R "$2" >/dev/null 2>&1 &
	process=$!
	while [ $# -eq 3 ] && [ $((stops++)) -lt 5 ] && sleep 0.01 && kill -STOP $process; do
		sleep "$3"
		kill -CONT $process
	done 2>/dev/null
	wait $process
	# When CUPTI's thread writes a chunk depends on real time: chunks are joined by thread.  So do the
	# addresses of large blocks, on CUPTI's buffers.  The number of the file that pages belong to, as
	# by cuMemHostRegister, differs each time.
	"$cufence" dump "$tmp"/out/*.cft 2>&1 | perl -ne '
		if (/^chunk thread=(\d+)/) { $thread = $1; next; }
		s/\b(pid|parent_pid|thread|caller)=[0-9]+/$1=N/g;
		s/=0x7f[0-9a-f]{10}\b/=0x7fN/g if /^call /;
		s/handle=0x[0-9a-f]+/handle=N/ if /^call cuMemHostRegister/;
		$lines{$thread // 0} .= $_;
		END { print $lines{$_} for sort { $a <=> $b } keys %lines; }' >"$1"
}

again() { # TEXT PROGRAM [SECONDS]: the trace is that in $tmp/first
	trace "$tmp/second" "${@:2}"
	cmp -s "$tmp/first" "$tmp/second"
	ok "$1" $?
	diff "$tmp/first" "$tmp/second" | head -n 20
}

# How often a thread asks before the answer is yes (600: not ready) depends on the machine.
sequences() { # PROGRAM: a line per thread and stream: what each did, in its order
	rm -rf "$tmp/out" "$tmp/db" && mkdir "$tmp/out"
	CUFENCE_OUT=$tmp/out LD_LIBRARY_PATH=$build/sim LD_PRELOAD="$preload" "$1" >/dev/null 2>&1
	"$cufence" load "$tmp"/out/*.cft -o "$tmp/db" >/dev/null 2>&1
	"$cufence" query "$tmp/db" "
		SELECT 'thread ' || group_concat(what, ' ') FROM (
			SELECT c.thread AS who, t.name || '=' || c.result || '@' ||
				coalesce(s.function || ':' || s.line, '') AS what
			FROM call c JOIN call_type t ON t.id = c.type LEFT JOIN site s ON s.id = c.site
			WHERE coalesce(c.result, 0) <> 600 ORDER BY c.thread, c.id) GROUP BY who
		UNION ALL
		SELECT 'stream ' || group_concat(what, ' ') FROM (
			SELECT o.stream AS who, o.kind || ':' || coalesce(k.name, o.bytes) AS what
			FROM operation o LEFT JOIN kernel k ON k.id = o.kernel
			ORDER BY o.stream, o.start, o.id) GROUP BY who" | sort
}

for source in $(grep -lE 'std::thread|pthread_create|std::mutex' "$apps"/*.cu); do
	name=$(basename "$source" .cu)
	for program in "$name" "${name}_fixed"; do
		[ -x "$build/testapps/$program" ] || continue
		first=$(sequences "$build/testapps/$program")
		has "$program: its threads made calls" '^thread .*cudaDeviceSynchronize=0@' "$first"
		has "$program: its streams had work" '^stream .*kernel:' "$first"
		same "$program: the same sequences twice" "$first" "$(sequences "$build/testapps/$program")"
	done
done

for source in "$apps"/*.cu; do
	name=$(basename "$source" .cu)
	grep -qE 'std::thread|pthread_create|std::mutex' "$source" && continue
	[ -x "$build/testapps/$name" ] || continue
	trace "$tmp/first" "$build/testapps/$name"
	grep -q '^call ' "$tmp/first"
	ok "$name: leaves a trace" $?
	again "$name: twice the same trace" "$build/testapps/$name"
	case $name in
	constant_reader | pageable_async_upload | copy_in_pipeline)
		again "$name: the same trace on a machine that stands still now and then" \
			"$build/testapps/$name" 0.6 ;;
	esac
done
finish
