/* SPDX-License-Identifier: Apache-2.0 */
#include "call_sql.h"
#include "kernel_names.h"
#include "stats.h"
#include "stream_sql.h"

/* An operation without a recorded call counts from its start. */
#define OPERATION "SELECT o.process, c.thread, o.stream, o.kernel, coalesce(c.enter, o.start), "
#define FROM_OPERATION \
	" FROM operation o LEFT JOIN call c ON c.id = o.call" \
	" LEFT JOIN kernel k ON k.id = o.kernel WHERE o.end >= o.start AND "
/* NULL: only a limit of its end is known. */
#define TOOK "iif(o.recorded_end IS NULL, o.end - o.start, NULL)"
/* NULL: unknown. */
#define STREAM STREAM_LABEL("s")

const struct stats_section stats_sections[] = {
	{ "turns", "turns", "ns", "loop",
		"SELECT l.process, l.thread, NULL, NULL, t.start, l.place, NULL,"
		" t.end - t.start, 1, NULL, NULL"
		" FROM turn t JOIN loop l ON l.process = t.process WHERE t.start >= l.start" },
	{ "kernels", "launches", "ns", "kernel",
		OPERATION "iif(o.kind = 'graph', 'CUDA graphs', " KERNEL_LABEL(
			"k") "), NULL, " TOOK ", 1, NULL, NULL" FROM_OPERATION
			     "o.kind IN ('kernel', 'graph')" },
	{ "copies", "copies and memsets", "ns", "copy",
		OPERATION
		"CASE WHEN o.kind = 'memset' THEN 'memset' || coalesce(' of ' || o.dst_memory, '')"
		" ELSE"
		" iif(o.copy_kind = 1 AND o.src_memory = 'device', 'staging',"
		"  coalesce(o.src_memory, '?')) || ' to ' ||"
		" iif(o.copy_kind = 2 AND o.dst_memory = 'device', 'staging',"
		"  coalesce(o.dst_memory, '?')) || iif(o.kind = 'peer', ', between devices', '')"
		" END, NULL, " TOOK ", 1, o.bytes, NULL" FROM_OPERATION
		"o.kind IN ('memcpy', 'memset', 'peer')" },
	{ "calls", "calls", "ns", "call",
		"SELECT c.process, c.thread, c.stream, c.kernel, c.enter, " CALL_NAME ", NULL,"
		" c.exit - c.enter, coalesce(p.count, 1), NULL, NULL"
		" FROM call c JOIN call_type t ON t.id = c.type LEFT JOIN site s ON s.id = c.site"
		" LEFT JOIN polling p ON p.call = c.id WHERE c.parent IS NULL"
		" AND ltrim(t.name, '_') GLOB 'cu*'" },
	{ "waits", "waits", "ns", "call",
		"SELECT c.process, c.thread, coalesce(o.stream, c.stream), o.kernel, c.enter,"
		" " CALL_NAME " || ', ' || w.kind, s.text, w.waited, 1, NULL, NULL"
		" FROM wait w JOIN call c ON c.id = w.call"
		" LEFT JOIN operation o ON o.id = w.op" FROM_OUTERMOST
		" UNION ALL SELECT c.process, c.thread, c.stream, NULL, c.enter,"
		" " CALL_NAME " || ', polling', s.text, p.last - c.enter, 1, NULL, NULL"
		" FROM polling p JOIN call c ON c.id = p.call" FROM_OUTERMOST
		" WHERE p.count > 1" },
	/* Live bytes are those of all memory, whatever is kept. */
	{ "memory", "allocations", "bytes", "memory",
		"SELECT process, thread, stream, NULL, at, memory, NULL, change, 1, NULL, live FROM"
		" (SELECT *, sum(change) OVER"
		"   (PARTITION BY process, memory ORDER BY at, id) AS live"
		" FROM (SELECT a.process, c.thread, c.stream, a.memory, a.id, a.bytes AS change,"
		"   coalesce(c.exit, 0) AS at"
		"   FROM allocation a LEFT JOIN call c ON c.id = a.created"
		"  UNION ALL SELECT a.process, NULL, NULL, a.memory, a.id, -a.bytes, f.enter"
		"   FROM allocation a JOIN call f ON f.id = a.freed)) WHERE change > 0" },
	{ "streams", "operations", "ns", "stream",
		OPERATION
		"CASE s.kind WHEN 'legacy' THEN 'legacy default stream'"
		" WHEN 'per-thread' THEN 'per-thread default stream'"
		" ELSE coalesce(" STREAM ", 'unknown stream') END,"
		" coalesce(iif(s.kind IN ('legacy', 'per-thread'), '', s.kind || ', '), '') ||"
		" 'device ' ||"
		" o.device || iif((SELECT count(*) FROM process) > 1, ', process ' ||"
		"  (SELECT pid FROM process WHERE id = o.process), ''), " TOOK ", 1, NULL, NULL"
		" FROM operation o LEFT JOIN stream s ON s.id = o.stream"
		" LEFT JOIN call c ON c.id = o.call WHERE o.end >= o.start" },
	{ "ranges", "ranges", "ns", "range",
		"SELECT process, thread, NULL, NULL, start, name, NULL, end - start, 1, NULL, NULL"
		" FROM range WHERE end IS NOT start" },
	{ 0 }
};
