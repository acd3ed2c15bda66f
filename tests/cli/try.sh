#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cufence try on the simulated device: each treatment saves what the fixed twin of its app saves, within
# 10 %, and the output stays the same; what something needs is refused with what needs it.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
apps=$build/testapps
needs "$cufence" "$build/lib/libcufence-try.so" "$build/sim/libcuda.so.1" "$apps/free_in_loop" "$build/tests/helpers/fixes" "$build/tests/helpers/moved"
cd "$tmp" || exit 1

record() { # NAME [DATABASE]
	"$cufence" run --sim --quiet -o "${2:-$1}.db" -- "$apps/$1" >/dev/null
}
try() { # NAME OPERAND...: what it says, and its status
	local name=$1
	shift
	timeout -k 5 60 "$cufence" try "$@" -- "$apps/$name" 2>&1
	echo "status $?"
}
time_of() { # DATABASE: ns from the first call to the end of the last
	sqlite3 "$1.db" "SELECT max(exit) - min(enter) FROM call"
}
trial() { # DATABASE COLUMN
	sqlite3 "$1.db" "SELECT $2 FROM trial"
}

# A treatment, and the app that shows it with what its twin saves.
for app in repeated_sync repeated_stream_waits sync_per_kernel sync_between_streams free_in_loop free_array_in_loop \
	free_host_in_loop stack_limit_in_loop pool_trim module_unload_in_loop pageable_async_upload legacy_between_streams \
	custom_streams; do
	record "$app"
	record "${app}_fixed"
	said=$(try "$app" --repeat 1 "$app.db" 1)
	has "$app is tried" "^#1 [a-z-]*: tried: saved .* predicted \\(.* in 1 pair of runs\\)\$" "$said"
	has "$app: status" '^status 0$' "$said"
	twin=$(($(time_of "$app") - $(time_of "${app}_fixed"))) saved=$(trial "$app" saved)
	[ -n "$saved" ] && [ $((10 * saved)) -ge $((9 * twin)) ] && [ $((10 * saved)) -le $((11 * twin)) ]
	ok "$app: saved $saved ns, its twin $twin" $?
	[ "$(trial "$app" applied)" -gt 0 ]
	ok "$app: calls were changed" $?
done
has "the report has it" '^    test tried: saved ' "$("$cufence" report free_in_loop.db)"
has "JSON" '"trial":\{"result":"tried","how":"saved .*","saved_ns":[0-9]*,' \
	"$("$cufence" report --format json free_in_loop.db)"
"$cufence" analyze free_in_loop.db
has "analyze keeps it" '^    test tried: saved ' "$("$cufence" report free_in_loop.db)"

# Code is loaded at the start; several findings, one after the other.
record lazy_kernels_in_loop
said=$(try lazy_kernels_in_loop --repeat 2 lazy_kernels_in_loop.db 1,2)
has "the first of two" '^#1 needless-wait: tried: saved ' "$said"
has "the second" '^#2 lazy-loading: tried: saved .* in 2 pairs of runs\)$' "$said"
[ "$(sqlite3 lazy_kernels_in_loop.db "SELECT min(saved) > 700000 FROM trial")" = 1 ]
ok "both save" $?
said=$(try lazy_kernels_in_loop --all --repeat 1 lazy_kernels_in_loop.db)
same "--all tries both, and together" 3 "$(grep -c ': tried: ' <<<"$said")"
has "... in the order of their savings" '^#2, #1 together: tried: saved ' "$said"
record two_device_syncs
sqlite3 two_device_syncs.db "SELECT id FROM finding WHERE shown" >shown
same "--all says of each why not" "$(wc -l <shown)" "$(try two_device_syncs --all two_device_syncs.db | grep -c '^#[0-9]* [a-z-]*: refused: ')"

# A time that is asked for is waited for, and calls of other kinds stay.
record wait_per_timing
has "times of events" '^#1 needless-wait: tried: ' "$(try wait_per_timing --repeat 1 wait_per_timing.db 1)"
record scratch_per_step
has "calls of another kind" '; not treated: cuMemcpyHtoD_v2$' "$(try scratch_per_step --repeat 1 scratch_per_step.db 1)"

# Two waits in a row for one copy: each can be left out, not both.  The analysis calls one redundant; the
# database says it of the other as well.
program=$build/tests/helpers/fixes
"$cufence" run --sim --quiet -o waits.db -- "$program" waits >/dev/null
sqlite3 waits.db "CREATE TEMP TABLE f AS SELECT * FROM finding WHERE id = 1; UPDATE f SET id = 2, fingerprint = 'x';
	INSERT INTO finding SELECT * FROM f; CREATE TEMP TABLE p AS SELECT * FROM finding_place WHERE id = 1;
	UPDATE p SET id = 1 + (SELECT max(id) FROM finding_place), finding = 2, (call, site) =
		(SELECT c.id, c.site FROM call c JOIN site s ON s.id = c.site JOIN call_type t ON t.id = c.type
		WHERE s.function = 'wait_first' AND NOT t.runtime LIMIT 1);
	INSERT INTO finding_place SELECT * FROM p"
said=$(timeout 60 "$cufence" try --repeat 1 --keep waits.fixes waits.db 1,2 -- "$program" waits 2>&1)
same "each of two waits" 2 "$(grep -c '^#[12] redundant-sync: tried: saved ' <<<"$said")"
has "... but not both" '^#[12]: not together with #[12]: nothing else orders a copy of 16 KiB to the host on stream [0-9]* before the program.s own access' \
	"$said"
has "... is not kept" "^kept in 'waits.fixes': #[12]; to run with it: " "$said"
same "... a fix is in the file" 1 "$(grep -c '^fix ' waits.fixes)"

# What only the program can change.
has "no treatment" '^#1 broad-sync: refused: only a change of the program does this' \
	"$(try two_device_syncs two_device_syncs.db 1)"
said=$(try two_device_syncs two_device_syncs.db 1)
has "... status" '^status 1$' "$said"
same "... is stored" "refused||0" "$(sqlite3 two_device_syncs.db "SELECT result, saved, runs FROM trial")"
record unregister_in_loop
has "registered memory" 'refused: the program may give registered memory back' "$(try unregister_in_loop unregister_in_loop.db 1)"

# A wait that the host needs, as if the analysis had taken it for needless: the finding gets its place.
blame() { # DATABASE LINE
	sqlite3 "$1.db" "CREATE TEMP TABLE w AS SELECT min(c.id) AS call, c.site, count(*) AS n FROM call c
		JOIN site s ON s.id = c.site JOIN call_type t ON t.id = c.type JOIN call_kind k ON k.name = t.kind
		WHERE NOT t.runtime AND k.family = 'wait' AND s.text = '$2';
		DELETE FROM finding_also; DELETE FROM finding_race; DELETE FROM finding_place WHERE id > 1;
		UPDATE finding SET rule = 'needless-wait' WHERE id = 1;
		UPDATE finding_place SET (call, site, count) = (SELECT call, site, n FROM w);"
}
cp repeated_sync.db early.db
line=$(sed -n 's/.*\(repeated_sync.cu:[0-9]*\).*/\1/p' <<<"$(sqlite3 repeated_sync.db "SELECT DISTINCT s.text
	FROM call c JOIN site s ON s.id = c.site WHERE s.function = 'compute' AND c.type IN
	(SELECT id FROM call_type WHERE name = 'cuStreamSynchronize')")")
blame early "$line"
has "a result that the host reads" "^#1 needless-wait: refused: nothing else orders a copy of 1 KiB to the host on \
stream [0-9]* before the program's own access \\(repeated_sync.cu:[0-9]*\\)\$" "$(try repeated_sync early.db 1)"
# A line whose other waits no finding names; those that repeat another wait are known by themselves.
cp repeated_sync.db some.db
sqlite3 some.db "UPDATE finding_place SET count = count - 3"
said=$(try repeated_sync some.db 1)
has "some waits of a line are needed: repeated ones are left out" '^#1 redundant-sync: tried: saved' "$said"
applied=$(sqlite3 some.db "SELECT applied FROM trial")
ok "... $applied of them" $((applied < 3998 || applied > 4002))
sqlite3 early.db "UPDATE finding_place SET count = count - 1"
has "a wait that may be needed" 'refused: 1 of the 2000 waits there may be needed' "$(try repeated_sync early.db 1)"

# Work of another stream that comes after it: the later of the two lines with a wait in each turn.
record stream_sync_for_event
blame stream_sync_for_event "$(sqlite3 stream_sync_for_event.db "SELECT max(text) FROM (SELECT s.text FROM call c
	JOIN site s ON s.id = c.site JOIN call_type t ON t.id = c.type WHERE t.name = 'cuStreamSynchronize'
	GROUP BY s.text HAVING count(*) = 12)")"
said=$(try stream_sync_for_event stream_sync_for_event.db 1)
has "work of another stream" "refused: nothing else orders kernel 'fill' on stream 2 before kernel 'touch' on stream 1 \
\\(stream_sync_for_event.cu:[0-9]*\\)\$" "$said"
same "... is not run with the fix" "refused|0" "$(sqlite3 stream_sync_for_event.db "SELECT result, runs FROM trial")"

# Work of the legacy stream: what else it orders is kept, or named.
program=$build/tests/helpers/moved
moved() { # KIND
	"$cufence" run --sim --quiet -o moved.db -- "$program" "$1" >/dev/null
	timeout 60 "$cufence" try --repeat 1 moved.db "$(sqlite3 moved.db "SELECT id FROM finding
		WHERE rule = 'legacy-stream-serialization'")" -- "$program" "$1" 2>&1
}
refused='^#1 legacy-stream-serialization: refused:'
has "work that uses the same memory now and then" '^#1 legacy-stream-serialization: tried: saved 2[0-9] ms' "$(moved bound)"
has "other uses of the legacy stream" 'tried: saved [12][0-9] ms .*; not treated: cuMemsetD8_v2$' "$(moved used)"
has "a wait for the legacy stream" "tried: saved 4[0-9] ms " "$(moved waits)"
has "... that the host needs for another stream" "tried: saved 4[0-9] ms " "$(moved result)"
has "two blocking streams in order by it" "$refused nothing else orders kernel 'touch' on stream [0-9]* before kernel \
'accumulate' on stream [0-9]* \\(moved.cu:[0-9]*\\)\$" "$(moved through)"
has "the host in order by it" "$refused nothing else orders a copy of 16 KiB to the host on stream [0-9]* before the \
program's own access" "$(moved host)"
has "two threads" "$refused an event may come too late between two threads' kernel 'touch' on the legacy default stream \
and kernel 'touch' on stream [0-9]* " "$(moved thread)"
has "... in the legacy stream" "$refused a memset of 16 KiB on the legacy default stream .* stays in the legacy default \
stream, and another thread's work is moved at that time: " "$(moved left)"
has "a host function" "$refused cuLaunchHostFunc is called: " "$(moved function)"
record legacy_event_record
has "what is no work" "$refused only launches, asynchronous copies and memsets are moved to another stream \\(cuEventRecord\\)\$" \
	"$(try legacy_event_record legacy_event_record.db 1)"
record legacy_clear_per_thread
has "a pair that shares memory" "$refused a memset of 64 KiB on the legacy default stream .* needs its order at other times, \
as it uses memory of kernel 'accumulate' on the per-thread default stream" "$(try legacy_clear_per_thread legacy_clear_per_thread.db 1)"
record threads_in_default_stream
has "two threads of one stream" "$refused kernel 'touch' on the legacy default stream .* would be in one other stream together with " \
	"$(try threads_in_default_stream threads_in_default_stream.db 1)"

# What a free keeps in order.
record free_orders
has "a race that would remain" 'refused: a race would remain: ' "$(try free_orders free_orders.db 2)"

# Another build has its calls at other places, and a changed output is seen.
has "another program" '^#1 blocking-free: not-applied: ' "$(try launches_behind_free free_in_loop.db 1)"
said=$(timeout 60 "$cufence" try --repeat 2 free_in_loop.db 1 -- sh -c "$apps/free_in_loop; echo \$CUFENCE_FIX" 2>&1)
has "an output that differs in each run says nothing" ': tried: ' "$said"
cat >tell <<EOF
#!/bin/sh
$apps/free_in_loop
od -An -tu4 -j8 -N4 "\$CUFENCE_FIX" >\$1
EOF
chmod +x tell
tell() { # FILE OPTION...: a program that tells there whether calls are treated
	local file=$1
	shift
	timeout 60 "$cufence" try --repeat 2 "$@" free_in_loop.db 1 -- ./tell "$file" 2>&1
}
has "stdout that differs" "^#1 blocking-free: output-differs: the program's output is another one with the fix" \
	"$(tell /dev/stdout)"
has "a file that nobody named" ': tried: ' "$(tell told)"
has "one that --output names" ': output-differs: ' "$(tell told --output told)"
has "one that --check reads" ': output-differs: ' "$(tell told --check 'cat told')"
has "its status" ': output-differs: ' "$(tell told --check 'grep -q " 0$" told')"

try free_in_loop free_in_loop.db >out
has "no number" 'give the numbers of findings, or --all' "$(cat out)"
has "no such finding" "cufence try: 99 is not the number of a finding" "$(try free_in_loop free_in_loop.db 99)"
has "a bad number of runs" 'repeat wants a number' "$(try free_in_loop --repeat 0 free_in_loop.db 1)"
same "no folder is left" "" "$(ls -d ./*traces* 2>/dev/null)"
finish
