#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recorder's facts about device and environment reach the database and the report's summary.
. "$(dirname "$0")/lib.sh" "$@"
cufence=$build/bin/cufence
app=$build/testapps/double_buffer
needs "$cufence" "$app" "$build/sim/libcuda.so.1"
cd "$tmp" || exit 1

report=$(CUDA_LAUNCH_BLOCKING=1 CUDA_DEVICE_MAX_CONNECTIONS=1 \
	"$cufence" run --sim -- "$app" 2>&1 >/dev/null)
ok "run" $?
has "what explains a run is named" 'CUDA_LAUNCH_BLOCKING=1: every launch waits' "$report"
has "so are queues that streams share" 'CUDA_DEVICE_MAX_CONNECTIONS=1: more streams' "$report"
has "work and overlap" '^    work .* busy .* of it overlapped' "$report"
has "coverage" '^    coverage 72 of 72 operations .*, call sites of ([0-9]+) of \1 calls' "$report"

query() { "$cufence" query cufence.db "$1"; }
same "the device's attributes are stored" "concurrent_kernels 1 integrated 0" "$(query \
	"SELECT group_concat(name || ' ' || value, ' ') FROM (SELECT * FROM device_attribute
	WHERE name IN ('concurrent_kernels', 'integrated') ORDER BY name)")"
same "and are no settings" 0 "$(query "SELECT count(*) FROM property WHERE name LIKE 'device.%'")"

# stencil(1000000 ns, in, out, 1): the pointers are operands, the scalars have their places.
same "parameters have a layout" "0 8, 8 8, 16 8, 24 8" "$(query \
	"SELECT group_concat(offset || ' ' || size, ', ') FROM parameter WHERE kernel = 1")"
same "scalars of a launch" "0000000040420F0000000000180000000000010000000000" "$(query \
	"SELECT hex(words) FROM launch JOIN shape s ON s.id = shape ORDER BY call LIMIT 1")"
same "pointers of a launch" "8,16" "$(query "SELECT group_concat(offset) FROM operand
	WHERE role = 'word' AND call = (SELECT min(call) FROM launch)")"

# Asked after a launch, not while a stream is captured: the kernels of the second run only make graphs.
local=$build/testapps/growing_local_memory
"$cufence" run --sim -o local.db -- "$local" >/dev/null 2>&1
same "local memory of kernels, and whether they print" \
	"touch 0 0, solve_512 2048 0, solve_768 3072 0, solve_1024 4096 0" \
	"$("$cufence" query local.db "SELECT group_concat(t, ', ') FROM (SELECT name || ' ' ||
	local_bytes || ' ' || prints AS t FROM kernel k JOIN kernel_code c ON c.kernel = k.id
	ORDER BY local_bytes LIMIT 4)")"
"$cufence" run --sim -o graphs.db -- "$build/testapps/graph_pipeline" >/dev/null 2>&1
same "what was not launched is not asked" "2 0" "$("$cufence" query graphs.db \
	"SELECT count(*) || ' ' || count(local_bytes) FROM kernel")"

# Sums that are kept are those of the rows.
same "threads" "" "$(query "SELECT thread, count(*), count(site), sum(exit - enter) FROM call
	WHERE parent IS NULL GROUP BY thread EXCEPT SELECT * FROM thread_use")"
same "streams" "" "$(query "SELECT process, stream, device, kind, count(*), sum(call IS NULL),
	sum(end - start) FROM operation GROUP BY 1, 2, 3, 4 EXCEPT SELECT * FROM stream_use")"
finish
