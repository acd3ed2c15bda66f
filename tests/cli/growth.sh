#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The work grows with the rows, not with their square: four times as many threads, places of a
# finding, or waits for one kernel, take at most five times as much processor time.  A large trace
# needs few addresses.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
needs "$cufence"
cd "$tmp" || exit 1

spent() { # COMMAND...: its processor time, ms
	local TIMEFORMAT='%U %S'
	{ time timeout 120 "$@" >out 2>err; } 2>&1 | awk '{ printf "%.0f", 1000 * ($1 + $2) }'
}
grows() { # TEXT COMMAND: with a name that has %s in place of the size; what else runs only adds time
	local few many tries=3
	while
		# shellcheck disable=SC2086
		few=$(spent ${2//%s/few}) many=$(spent ${2//%s/many})
		[ ! -s err ] && [ "$many" -gt $((5 * few + 200)) ] && [ $((--tries)) -gt 0 ]
	do :; done
	[ -s err ] && cat err
	[ ! -s err ] && [ "$many" -le $((5 * few + 200)) ]
	ok "$1: $few ms, with four times as many $many ms" $?
}

head='cufence-trace version=1.1 chunk_size=65536 clock=1 features=0x3 pid=1 parent_pid=0 start_ns=1000000000 closed=1 cupti_state=1 cupti_error=0 cupti_version=130001 driver_version=13000 dropped_records=0 dropped_device=0 invalid_device=0 dropped_sites=0 dropped_entries=0 passed_through=0 bypassed_calls=0 cut=0 written=65536'
start() { # the records that all have
	echo "$head"
	echo "chunk thread=0"
	cat "$golden/calls.table"
	echo 'calibration ticks=0 realtime_ns=1000000000 cupti_ns=1000000000 gap_ticks=90'
	echo 'string id=400 text="_ZN7cufence7stencilEyPKfPfm"'
	echo 'chunk thread=1'
	echo 'thread thread=1 birth=0 text="main"'
	echo 'context id=1 cupti_id=1 handle=0x55b2e53c3d70 device=0 flags=8'
	echo 'function handle=0xf0 parameters=0+8 name="_ZN7cufence7stencilEyPKfPfm"'
}
# Each call in a chunk of its own where the chunk would become too long.
functions='
function call(name, site, correlation, enter, duration, fields) {
	printf "call %s record_flags=%d result=0 site=%d correlation=%d enter=%.0f duration=%d context=1 | %s\n",
		name, name ~ /Launch/ ? 66 : 2, site, correlation, enter, duration, fields
}
function launch(site, correlation, enter, stream) {
	call("cuLaunchKernel", site, correlation, enter, 2000, "function=0xf0 stream=" stream \
		" grid=0x1000100000008 block=0x1001100 buffer=0x700000000000")
}
function operation(kind, correlation, start, end) {
	printf "device kind=%d detail=0 src=0 dst=%d start=%.0f end=%.0f correlation=%d context=1 device=0 stream=7 name=%d value=%d\n",
		kind, kind == 1 ? 0 : 2, 1000000000 + start, 1000000000 + end, correlation,
		kind == 1 ? 400 : 0, kind == 1 ? 0 : 4096
}
function chunk(thread, i) { if (i % 150 == 0) print "chunk thread=" thread }
function finish(time) {
	printf "calibration ticks=%.0f realtime_ns=%.0f cupti_ns=%.0f gap_ticks=90\n", time,
		1000000000 + time, 1000000000 + time
}'
# shellcheck disable=SC2016
threads='BEGIN {
	for (i = 1; i <= n; i++) {
		print "chunk thread=" 1000 + i
		print "thread thread=" 1000 + i " birth=0 text=\"worker\""
		print "site id=" i " frames=0x" 1000 + i % 64
		launch(i, i, i * 10000, "0x2")
	}
	print "chunk thread=0"
	for (i = 1; i <= n; i++) {
		chunk(0, i)
		operation(1, i, i * 10000 + 3000, i * 10000 + 6000)
	}
	finish((n + 1) * 10000)
}'
# shellcheck disable=SC2016
places='BEGIN {
	for (i = 1; i <= n; i++) {
		chunk(1, i)
		print "site id=" i " frames=0x" 100000 + i
		call("cuMemAlloc_v2", i, 0, i * 4000000 - 5000, 1000, "ptr=0x710000000000 bytes=0x100000")
		launch(i, i, i * 4000000, "0x2")
		call("cuMemFree_v2", i, 0, i * 4000000 + 5000, 3000000, "ptr=0x710000000000")
	}
	print "chunk thread=0"
	for (i = 1; i <= n; i++) {
		chunk(0, i)
		operation(1, i, i * 4000000 + 3000, i * 4000000 + 3003000)
		print "symbol address=0x" 100000 + i " depth=0 line=" i " function=\"main\" file=\"a.cu\""
	}
	finish((n + 1) * 4000000)
}'
# shellcheck disable=SC2016
memsets='BEGIN {
	print "site id=1 frames=0x1000"
	call("cuMemHostAlloc", 1, 0, 10, 10, "ptr=0x700000000000 bytes=0x100000 flags=0x0")
	call("cuStreamCreate", 1, 0, 30, 10, "new_stream=0x5000 flags=0x0 priority=0x0")
	call("cuStreamCreate", 1, 0, 50, 10, "new_stream=0x6000 flags=0x0 priority=0x0")
	launch(1, n + 1, 100000, "0x5000")
	for (i = 1; i <= n; i++) {
		chunk(1, i)
		call("cuMemsetD8_v2", 1, i, 1000000, 500000, "dst=0x700000000000 value=0x0 bytes=0x1000")
	}
	launch(1, n + 2, 1600000, "0x6000")
	print "chunk thread=0"
	operation(1, n + 1, 200000, 1480000)
	operation(1, n + 2, 1700000, 1900000)
	for (i = 1; i <= n; i++) {
		chunk(0, i)
		operation(3, i, 1490000, 1495000)
	}
	finish(20000000)
}'
make() { # NAME PROGRAM FEW
	{ start && awk -v n="$3" "$functions$2"; } | "$cufence" undump - -o "$1.few.cft" &&
		{ start && awk -v n="$((4 * $3))" "$functions$2"; } | "$cufence" undump - -o "$1.many.cft"
	ok "$1: set-up" $?
}

make threads "$threads" 1500
grows "threads, load" "$cufence load threads.%s.cft -o threads.%s.db"
grows "threads, html" "$cufence report --format html -o out.html threads.%s.db"
grows "threads, perfetto" "$cufence report --format perfetto -o out.perfetto threads.%s.db"

make places "$places" 750
grows "places, load" "$cufence load places.%s.cft -o places.%s.db"
has "places: one finding" "^2999$" "$("$cufence" query places.many.db \
	"SELECT count(*) FROM finding JOIN finding_place p ON p.finding = finding.id")"
grows "places, report" "$cufence report --all -o out.txt places.%s.db"
grows "places, redacted" "$cufence report --all --redact -o out.txt places.%s.db"
grows "places, html" "$cufence report --format html -o out.html places.%s.db"

make memsets "$memsets" 750
grows "memsets, load" "$cufence load memsets.%s.cft -o memsets.%s.db"
same "memsets: all waited" 3000 "$("$cufence" query memsets.many.db \
	"SELECT count(*) FROM wait w JOIN call c ON c.id = w.call JOIN call_type t ON t.id = c.type
	 WHERE t.name LIKE '%emset%'")"

# Sanitizers reserve more addresses than there are.
sanitized && finish
needs "$build/bench/make_trace"
"$build/bench/make_trace" 250000 large.cft
(ulimit -v 900000 && timeout 120 "$cufence" load large.cft -o large.db 2>err)
same "a large trace in few addresses: status, messages" "0 " "$? $(cat err)"
same "all of it" 250024 "$("$cufence" query large.db 'SELECT count(*) FROM call')"
(ulimit -v 300000 && timeout 120 "$cufence" load large.cft -o less.db 2>err)
same "in still fewer" "0 250024" "$? $("$cufence" query less.db 'SELECT count(*) FROM call')"
finish
