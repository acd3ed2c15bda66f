#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# "cufence stats": its numbers against a database small enough to count by hand, and against the
# text of a golden trace; filters, the loop, formats, mistakes.
. "$(dirname "$0")/lib.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)
cufence=$build/bin/cufence
needs "$cufence"
command -v sqlite3 >/dev/null || { echo "not run: no sqlite3"; finish; }
cd "$tmp" || exit 1

golden_text one_stream | "$cufence" undump - -o empty.cft && "$cufence" load empty.cft -o empty.db
{ echo 'PRAGMA application_id = 0x63756665;'; sqlite3 empty.db '.schema --nosys' 'PRAGMA user_version' |
	sed '$s/.*/PRAGMA user_version = &;/'; cat; } <<'SQL' | sqlite3 mini.db >/dev/null
INSERT INTO run VALUES (0, 'x', 'app');
INSERT INTO process VALUES (1, 100, 1, 0, 99000, 1, 0, 'tsc', 0, 'on', 0, 0, 0, 't'), (2, 200, 1, 0, 99000, 1, 0, 'tsc', 0, 'on', 0, 0, 0, 'u');
INSERT INTO thread (id, process, tid, name) VALUES (1, 1, 101, 'main'), (2, 1, 102, 'loader'), (3, 2, 201, 'main');
INSERT INTO context (id, process, number, handle, cupti_id, device, flags) VALUES (1, 1, 1, 1, 1, 0, 0), (2, 2, 1, 1, 1, 0, 0);
INSERT INTO stream (id, process, context, handle, kind, cupti_id) VALUES (1, 1, 1, 1, 'legacy', 7), (2, 1, 1, 9, 'non-blocking', 14), (3, 2, 2, 9, 'blocking', 14);
INSERT INTO kernel (id, process, mangled, name) VALUES (1, 1, 'a', 'add'), (2, 1, 's', 'scale'), (3, 2, 'a', 'add');
INSERT INTO kernel_name VALUES (1, 'void add<float>(float *)', 'add<float>'), (3, 'void add<float>(float *)', 'add<float>');
INSERT INTO site (id, process, number, text, api) VALUES (1, 1, 1, 'a.cu:7', NULL), (2, 1, 2, 'a.cu:9', 'cudaMemcpyAsync');
INSERT INTO call_type VALUES (1, 'cuLaunchKernel', 'launch', 0), (2, '__cudaLaunchKernel', 'launch', 1), (3, 'cudaFree', 'free', 1),
	(4, 'cuMemFree_v2', 'free', 0), (5, 'pthread_join', 'join', 0), (6, 'cuStreamQuery', 'query', 0), (7, 'cuMemcpyHtoDAsync_v2', 'copy', 0), (8, 'cuMemAlloc_v2', 'alloc', 0);
INSERT INTO call (id, process, thread, parent, type, enter, exit, stream, kernel, site, per_thread) VALUES
	(1, 1, 1, NULL, 8, 100, 150, NULL, NULL, 1, 0), (2, 1, 1, NULL, 8, 200, 240, NULL, NULL, 1, 0),
	(3, 1, 1, NULL, 2, 1100, 1110, 2, 1, 1, 0), (4, 1, 1, 3, 1, 1102, 1108, 2, 1, 1, 0),
	(5, 2, 3, NULL, 1, 1100, 1105, 3, 3, NULL, 0),
	(6, 1, 1, NULL, 3, 1200, 1500, NULL, NULL, 1, 0), (7, 1, 1, 6, 4, 1202, 1498, NULL, NULL, 1, 0),
	(8, 1, 1, NULL, 2, 2100, 2110, 2, 1, 1, 0), (9, 1, 1, 8, 1, 2102, 2108, 2, 1, 1, 0),
	(10, 1, 1, NULL, 3, 2200, 2650, NULL, NULL, 1, 0), (11, 1, 1, 10, 4, 2202, 2648, NULL, NULL, 1, 0),
	(12, 1, 1, NULL, 2, 3100, 3110, 2, 1, 1, 0), (13, 1, 1, 12, 1, 3102, 3108, 2, 1, 1, 0),
	(14, 1, 1, NULL, 2, 4600, 4610, 2, 1, 1, 0), (15, 1, 1, 14, 1, 4602, 4608, 2, 1, 1, 0),
	(16, 1, 1, NULL, 8, 5000, 5050, NULL, NULL, 1, 0),
	(17, 1, 2, NULL, 7, 7000, 7020, 1, NULL, 2, 0), (18, 1, 2, NULL, 7, 7030, 7040, 1, NULL, 2, 0),
	(19, 1, 1, NULL, 6, 9000, 9002, 2, NULL, 1, 0), (20, 1, 1, NULL, 5, 9950, 9999, NULL, NULL, 1, 0);
INSERT INTO polling VALUES (19, 50, 9900);
INSERT INTO allocation VALUES (1, 1, 4096, 1000, 'device', 1, NULL), (2, 1, 8192, 3000, 'device', 2, 7), (3, 1, 65536, 2000, 'device', 16, NULL);
INSERT INTO operation (id, process, call, kind, start, end, device, stream, correlation, kernel, bytes, copy_kind, src_memory, dst_memory, recorded_end) VALUES
	(1, 1, 4, 'kernel', 1150, 1250, 0, 2, 4, 1, NULL, NULL, NULL, NULL, NULL),
	(2, 1, 9, 'kernel', 2150, 2450, 0, 2, 9, 1, NULL, NULL, NULL, NULL, NULL),
	(3, 1, 13, 'kernel', 3150, 3350, 0, 2, 13, 1, NULL, NULL, NULL, NULL, NULL),
	(4, 1, 15, 'kernel', 4650, 5650, 0, 2, 15, 1, NULL, NULL, NULL, NULL, NULL),
	(5, 2, 5, 'kernel', 1200, 1700, 0, 3, 5, 3, NULL, NULL, NULL, NULL, NULL),
	(6, 1, NULL, 'kernel', NULL, NULL, 0, 2, 30, 2, NULL, NULL, NULL, NULL, NULL),
	(7, 1, 17, 'memcpy', 7100, 17100, 0, 1, 17, NULL, 1000000, 1, 'pinned', 'device', NULL),
	(8, 1, 18, 'memcpy', 20000, 21000, 0, 1, 18, NULL, 500, 1, 'pinned', 'device', 90000),
	(9, 1, NULL, 'memset', 8000, 8050, 0, 1, 31, NULL, 64, NULL, NULL, 'device', NULL),
	(10, 1, NULL, 'graph', 9000, 9030, 0, 2, 32, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO wait (id, call, kind, op, waited, avoidable) VALUES (1, 7, 'implicit', 1, 250, 0), (2, 11, 'implicit', 2, 400, 0);
INSERT INTO range VALUES (1, 1, 'step 0', 1000, 2000), (1, 1, 'step 1', 2000, 3000), (1, 1, 'inner', 1100, 1150), (1, 1, 'mark', 1500, 1500), (1, 1, 'open', 9500, NULL);
INSERT INTO loop VALUES (1, 1, 1, 'a.cu:7', 4, 0, 1000, 6000, 6500, 0);
INSERT INTO turn VALUES (1, 0, 1000, 2000), (1, 1, 2000, 3000), (1, 2, 3000, 4500), (1, 3, 4500, 6000);
SQL
csv() { "$cufence" stats --format csv mini.db "$@" | tail -n +2 | tr -d '\r'; }
section() { csv --section "$@" | cut -d, -f2-; } # NAME OPTION...: without its name

# name, detail, count, unit, total, percent, median, worst, bytes, GB/s, peak
same "kernels: median of five, what ran only, both processes" 'add<float>,,5,ns,2100,98.6,300,1000,,,
CUDA graphs,,1,ns,30,1.4,30,30,,,' "$(section kernels)"
same "copies: no time of a limit, rate of the timed" 'pinned to device,,2,ns,10000,99.5,10000,10000,1000500,100.0,
memset of device,,1,ns,50,0.5,50,50,64,1.28,' "$(section copies)"
same "calls: outermost, as written, each query" 'cudaFree,,2,ns,750,77.6,375,450,,,
cuMemAlloc,,3,ns,140,14.5,50,50,,,
cudaLaunchKernel,,4,ns,40,4.1,10,10,,,
cudaMemcpyAsync,,2,ns,30,3.1,15,20,,,
cuLaunchKernel,,1,ns,5,0.5,5,5,,,
cuStreamQuery,,50,ns,2,0.2,2,2,,,' "$(section calls)"
same "waits: of the outermost call, and polling" '"cuStreamQuery, polling",a.cu:7,1,ns,900,58.1,900,900,,,
"cudaFree, implicit",a.cu:7,2,ns,650,41.9,325,400,,,' "$(section waits)"
same "memory: the most at once" 'device,,3,bytes,6000,100.0,2000,3000,,,4000' "$(section memory)"
same "streams" 'legacy default stream,"device 0, process 100",3,ns,10050,82.5,5025,10000,,,
stream 14,"non-blocking, device 0, process 100",5,ns,1630,13.4,200,1000,,,
stream 14,"blocking, device 0, process 200",1,ns,500,4.1,500,500,,,' "$(section streams)"
same "ranges: no marks, no time of open ones" 'step 0,,1,ns,1000,48.8,1000,1000,,,
step 1,,1,ns,1000,48.8,1000,1000,,,
inner,,1,ns,50,2.4,50,50,,,
open,,1,ns,,,,,,,' "$(section ranges)"
same "turns: the last one ends where the loop does" 'a.cu:7,,4,ns,5000,100.0,1250,1500,,,' "$(section turns)"
same "all sections, in order" "turns kernels copies calls waits memory streams ranges" "$(csv | cut -d, -f1 | uniq | xargs)"

# --- by loop: its process only, what was submitted in turns ---
same "a turn's kernels" 'add<float>,,1,ns,400,100.0,250,1000,,,' "$(section kernels --by loop)"
same "a turn's waits" '"cudaFree, implicit",a.cu:7,0.5,ns,163,100.0,325,400,,,' "$(section waits --by loop)"
same "a turn's memory, live with what was there" 'device,,0.25,bytes,500,100.0,2000,2000,,,3000' "$(section memory --by loop)"
same "turns are not divided" 'a.cu:7,,4,ns,5000,100.0,1250,1500,,,' "$(section turns --by loop)"
same "no copy there" "" "$(csv --by loop | grep copies)"
cp mini.db paused.db && sqlite3 paused.db 'UPDATE turn SET end = 2180 WHERE number = 1; UPDATE loop SET paused = 820'
same "what a pause waits is no turn's" '"cudaFree, implicit",a.cu:7,0.25,ns,63,100.0,250,250,,,' \
	"$("$cufence" stats --format csv --section waits --by loop paused.db | tail -n +2 | tr -d '\r' | cut -d, -f2-)"

# --- filters: count and time of add<float> ---
add() { csv --section kernels "$@" | grep add | cut -d, -f4,6; }
same "a process" 1,500 "$(add --process 200)"
same "a stream's number" 5,2100 "$(add --stream 14)"
same "a stream's kind" 4,1600 "$(add --stream non-blocking)"
same "a thread by id" 4,1600 "$(add --thread 101)"
same "a thread by name" 5,2100 "$(add --thread main)"
same "a range" 1,300 "$(add --range 'step 1')"
same "ranges by pattern" 2,400 "$(add --range 'step *')"
same "within one range, after another in it" 2,650 "$(csv --section waits --range '[si]*' | cut -d, -f5,7)"
same "time when submitted" 1,300 "$(add --time 0.000002:0.000003)"
same "until" 2,600 "$(add --time :0.000002)"
same "from" 1,1000 "$(add --time 0.0000045:)"
same "a kernel by part of its name" 5,2100 "$(add --kernel 'float *')"
same "by pattern" 5,2100 "$(add --kernel 'add*')"
same "a kernel's waits" 2,650 "$(csv --kernel add --section waits | cut -d, -f5,7)"
same "filters add up" 1,100 "$(add --stream 14 --process 100 --time :0.000002)"
same "the legacy stream has no kernels" "copies calls streams" "$(csv --stream legacy | cut -d, -f1 | uniq | xargs)"

# --- text and other forms ---
text=$("$cufence" stats mini.db)
has "the sum of a section" '^kernels: 2.1 us in 6 launches$' "$text"
has "a name's line" '^  2.1 us +99 % +5 +300 ns +1.0 us  add<float>$' "$text"
has "bytes and rate" 'pinned to device, 977 KiB, 100.0 GB/s$' "$text"
has "what is unknown" '^       - +- +1 +- +-  open$' "$text"
has "per turn" '^waits: 163 ns in 0.5 waits per turn$' "$("$cufence" stats --by loop mini.db)"
has "less than one a turn" '^ +500 B +100 % +0.25 ' "$("$cufence" stats --by loop --process 100 --section memory mini.db)"
same "the largest only, and how many more" 'calls: 967 ns in 62 calls
    time   share     count    median     worst  call
  750 ns    78 %         2    375 ns    450 ns  cudaFree
         and 5 more (--top 0)' "$("$cufence" stats --section calls --top 1 mini.db)"
"$cufence" stats -o out.csv mini.db && "$cufence" stats --format csv mini.db | cmp -s - out.csv
ok "the format of a file's ending" $?
if command -v python3 >/dev/null; then
	"$cufence" stats --format json mini.db | python3 -c '
import json, sys
rows = json.load(sys.stdin)
add = [r for r in rows if r["name"] == "add<float>"]
sys.exit(add != [dict(section="kernels", name="add<float>", detail=None, count=5, unit="ns",
    total=2100, percent=98.6, median=300, worst=1000, bytes=None, gb_per_s=None, peak=None)])'
	ok "JSON" $?
fi

# --- a recorded run: the sums of its trace ---
golden_text free_in_loop >trace.txt
"$cufence" undump trace.txt -o trace.cft && "$cufence" load trace.cft -o golden.db 2>err
awk '/^device kind=1 / { split($6, start, "="); split($7, end, "="); count++; sum += substr(end[2], 8) - substr(start[2], 8) }
	END { print count, int(sum / 100000) }' trace.txt >wanted
"$cufence" stats --format csv --section kernels golden.db | tail -n +2 |
	awk -F, '{ count += $4; sum += $6 } END { print count, int(sum / 100000) }' >got
same "60 kernels as the trace has them" "$(cat wanted)" "$(cat got)"

refuses() { # TEXT MESSAGE OPTION...
	local text=$1 message=$2
	shift 2
	"$cufence" stats "$@" >out 2>err
	same "$text" "2 0" "$? $(wc -c <out)"
	has "$text: why" "$message" "$(cat err)"
}
refuses "nothing left" 'nothing of that' mini.db --kernel scale
cp mini.db once.db && sqlite3 once.db 'DELETE FROM loop; DELETE FROM turn'
refuses "no loop" 'no loop: leave out --by' once.db --by loop
refuses "a section" "--section is turns, .* or ranges, not 'x'" mini.db --section x
refuses "a time" "--time is FROM:UNTIL in seconds of the run, not '3'" mini.db --time 3
refuses "a negative time" "--time is" mini.db --time -1:
refuses "a format" "--format is text, csv or json, not 'xml'" mini.db --format xml
refuses "a number" "--top is a number, not 'many'" mini.db --top many
refuses "by" "--by is loop, not 'day'" mini.db --by day
refuses "the database as output" "is the database: name another file" --format text -o mini.db mini.db
finish
