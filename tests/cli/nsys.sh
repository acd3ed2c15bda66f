#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Queries written for Nsight Systems' SQLite export give the same answers as cufence's own tables.
. "$(dirname "$0")/lib.sh" "$@"
here=$(cd "$(dirname "$0")" && pwd)
cufence=$build/bin/cufence
needs "$cufence"
query() { "$cufence" query "$tmp/nsys.db" "$1"; }

golden_text double_buffer | "$cufence" undump - -o "$tmp/nsys.cft" &&
	"$cufence" load "$tmp/nsys.cft" -o "$tmp/nsys.db"
ok "load" $?

# The list and the views agree, to the column, and brackets are true.
wanted=$(sed -e '/^#/d' "$here/nsys/columns" | awk '/^[A-Z]/ { if (line) print line; line = $0; next }
	{ sub(/^ +/, " "); line = line $0 } END { print line }')
got=$(query "SELECT m.name || ':' || group_concat(c.name, ' ') FROM (SELECT name, rowid AS place FROM sqlite_schema
	WHERE type = 'view' AND name <> 'dependency') m JOIN pragma_table_info(m.name) c GROUP BY m.name ORDER BY m.place, c.cid" |
	sed 's/:/: /')
same "columns are those of the list" "$(tr -d '[]' <<<"$wanted")" "$got"
while read -r view columns; do
	for column in $columns; do
		[ "$column" = "${column#[}" ] && continue
		column=${column//[\[\]]/}
		same "${view%:}.$column is never known" 0 "$(query "SELECT count($column) FROM ${view%:}")"
	done
done <<<"$wanted"

# The documentation declares these TEXT; the rest are INTEGER.
is_text=' value text name label devStateName utcTime localTime '
types=$(while read -r view columns; do
	for column in $columns; do
		column=${column//[\[\]]/} wanted_type=integer
		[[ $is_text = *" $column "* ]] && wanted_type=text
		query "SELECT DISTINCT '${view%:}.$column is ' || typeof($column) FROM ${view%:}
			WHERE $column NOT NULL AND typeof($column) <> '$wanted_type'"
	done
done <<<"$wanted")
same "types of values" "" "$types"

same "names are told by id" 0 "$(query "SELECT count(*) - count(DISTINCT id) FROM StringIds")"
# The queries of the reports of "nsys stats", shortened.
same "kernel summary" "$(query "SELECT k.name, count(*), sum(o.end - o.start), min(o.end - o.start),
		max(o.end - o.start) FROM operation o JOIN kernel k ON k.id = o.kernel GROUP BY k.name")" \
	"$(query "SELECT s.value, count(*), sum(k.end - k.start), min(k.end - k.start), max(k.end - k.start)
		FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName
		GROUP BY k.shortName ORDER BY s.value")"
same "API summary" "$(query "SELECT ltrim(t.name, '_') AS name, count(*), sum(c.exit - c.enter) FROM call c JOIN call_type t
		ON t.id = c.type WHERE c.parent IS NULL AND ltrim(t.name, '_') GLOB 'cu*' GROUP BY t.id ORDER BY 1")" \
	"$(query "SELECT s.value, count(*), sum(r.end - r.start) FROM CUPTI_ACTIVITY_KIND_RUNTIME r
		JOIN StringIds s ON s.id = r.nameId GROUP BY r.nameId ORDER BY s.value")"
same "sizes of copies" "$(query "SELECT CASE copy_kind WHEN 1 THEN 'Host-to-Device' ELSE 'Device-to-Host' END,
		count(*), sum(bytes) FROM operation WHERE kind = 'memcpy' GROUP BY copy_kind")" \
	"$(query "SELECT e.label, count(*), sum(m.bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY m
		JOIN ENUM_CUDA_MEMCPY_OPER e ON e.id = m.copyKind GROUP BY m.copyKind")"
same "pinned memory" "Pinned	Device" "$(query "SELECT DISTINCT a.label, b.label FROM CUPTI_ACTIVITY_KIND_MEMCPY m
	JOIN ENUM_CUDA_MEM_KIND a ON a.id = m.srcKind JOIN ENUM_CUDA_MEM_KIND b ON b.id = m.dstKind WHERE copyKind = 1")"
same "every kernel has the launch that the program made" "24	cudaLaunchKernel" "$(query "SELECT count(*), s.value
	FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId
		AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000 AND r.start <= k.start
	JOIN StringIds s ON s.id = r.nameId GROUP BY s.value")"
same "processes" "$(query "SELECT pid FROM process")" \
	"$(query "SELECT DISTINCT globalPid / 0x1000000 % 0x1000000 FROM CUPTI_ACTIVITY_KIND_KERNEL")"
same "grid and block" 24 "$(query "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL
	WHERE gridX > 0 AND gridY = 1 AND gridZ = 1 AND blockX BETWEEN 1 AND 1024 AND dynamicSharedMemory = 0")"
same "waits" "$(query "SELECT count(*) FROM call c JOIN call_type t ON t.id = c.type WHERE NOT t.runtime
		AND t.kind IN ('stream_sync', 'event_sync', 'context_sync', 'stream_wait')")" \
	"$(query "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION y JOIN ENUM_CUPTI_SYNC_TYPE e ON e.id = y.syncType
		JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)")"
# Memory that is allocated, less what is freed, is what was never freed.
same "memory that is left" "$(query "SELECT ifnull(sum(bytes), 0) FROM allocation WHERE created NOT NULL AND freed IS NULL")" \
	"$(query "SELECT sum(CASE o.label WHEN 'Allocation' THEN bytes ELSE -bytes END) FROM CUDA_GPU_MEMORY_USAGE_EVENTS m
		JOIN ENUM_CUDA_DEV_MEM_EVENT_OPER o ON o.id = m.memoryOperationType")"
same "an event for each end" "$(query "SELECT count(created) + count(freed) FROM allocation")" \
	"$(query "SELECT count(*) FROM CUDA_GPU_MEMORY_USAGE_EVENTS")"
same "by the call that the program made" "Device	cudaMalloc" "$(query "SELECT DISTINCT k.label, s.value
	FROM CUDA_GPU_MEMORY_USAGE_EVENTS m JOIN ENUM_CUDA_MEM_KIND k ON k.id = m.memKind
	JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) JOIN StringIds s ON s.id = r.nameId
	WHERE m.memoryOperationType = 0 AND k.label = 'Device'")"
# The callers of a call, as in the documentation's example of call chains.
same "call chains" "$(query "SELECT DISTINCT f.function FROM call c JOIN frame f ON f.site = c.site
		WHERE c.parent IS NULL AND f.user AND f.function NOT NULL ORDER BY 1")" \
	"$(query "SELECT DISTINCT s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN CUDA_CALLCHAINS h ON h.id = r.callchainId
		JOIN StringIds s ON s.id = h.symbol JOIN frame f ON f.site = h.id AND f.depth = h.stackDepth AND f.user
		ORDER BY 1")"
same "files of frames" 0 "$(query "SELECT count(*) FROM CUDA_CALLCHAINS h JOIN frame f ON f.site = h.id AND
	f.depth = h.stackDepth JOIN module m ON m.id = f.module LEFT JOIN StringIds s ON s.id = h.module WHERE m.path IS NOT s.value")"
same "frames without a name, and only they, are unresolved" \
	"$(query "SELECT count(*) FROM frame WHERE function IS NULL")" \
	"$(query "SELECT count(*) FROM CUDA_CALLCHAINS WHERE unresolved IS NOT NULL AND symbol IS NULL")"
same "one row a process" "$(query "SELECT pid FROM process")" "$(query "SELECT globalPid / 0x1000000 FROM PROCESSES")"
same "settings" "$(query "SELECT name, value FROM property")" "$(query "SELECT name, value FROM TARGET_INFO_SYSTEM_ENV")"
finish
