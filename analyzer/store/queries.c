/* SPDX-License-Identifier: Apache-2.0 */
#include "queries.h"

#include <stddef.h>

/* How long an operation took; NULL: only a limit of its end is known. */
#define TOOK "CASE WHEN o.recorded_end IS NULL THEN o.end - o.start END"
/* The end of the time in which it is known to have run. */
#define RAN_UNTIL "CASE WHEN recorded_end IS NULL THEN \"end\" ELSE start END"

const struct query queries[] = {
	{ "calls", "time inside calls, by name",
		"SELECT t.name, count(*) AS calls, sum(c.exit - c.enter) AS total_ns,"
		" max(c.exit - c.enter) AS longest_ns,"
		" sum(CASE WHEN c.result = 0 THEN 0 ELSE 1 END) AS failed"
		" FROM call c JOIN call_type t ON t.id = c.type GROUP BY t.name"
		" ORDER BY total_ns DESC, t.name",
		0 },
	{ "streams", "streams and what ran on them",
		"SELECT s.id, s.kind, s.name, s.context, s.cupti_id, count(o.id) AS operations,"
		" coalesce(sum(" TOOK "), 0) AS busy_ns"
		" FROM stream s LEFT JOIN operation o ON o.stream = s.id"
		" GROUP BY s.id, s.kind, s.name, s.context, s.cupti_id ORDER BY s.id",
		0 },
	{ "operations", "operations per kind and kernel",
		"SELECT o.kind, coalesce(k.name, '') AS kernel, count(*) AS operations,"
		" sum(" TOOK ") AS busy_ns, sum(o.bytes) AS bytes"
		" FROM operation o LEFT JOIN kernel k ON k.id = o.kernel"
		" GROUP BY o.kind, k.name ORDER BY busy_ns DESC, kernel",
		0 },
	{ "sites", "call sites, the busiest first",
		"SELECT s.text, s.function, t.name, count(*) AS calls, sum(c.exit - c.enter) AS "
		"total_ns"
		" FROM call c JOIN call_type t ON t.id = c.type JOIN site s ON s.id = c.site"
		" GROUP BY s.id, t.id, s.text, s.function, t.name ORDER BY total_ns DESC",
		0 },
	{ "waits", "calls that the device blocked",
		"SELECT w.kind, t.name, s.text, count(*) AS times, sum(w.waited) AS waited_ns"
		" FROM wait w JOIN call c ON c.id = w.call JOIN call_type t ON t.id = c.type"
		" LEFT JOIN site s ON s.id = c.site"
		" GROUP BY w.kind, t.id, s.id, t.name, s.text ORDER BY waited_ns DESC",
		0 },
	/*
	 * Per line, only places that cost at least half as much as the costliest one: other
	 * partners of a wait vary between runs.
	 */
	{ "expect", "shown findings in a form that tests compare",
		"SELECT DISTINCT expected FROM (SELECT f.rule ||"
		" CASE f.rule WHEN 'missing-fence' THEN ':' || p.kind ELSE '' END ||"
		" ' ' || p.confidence || ' ' ||"
		" coalesce(a.function, '?') || ':' || coalesce(a.line, 0) ||"
		" CASE WHEN o.id IS NULL THEN '' ELSE ' -> ' || coalesce(o.function, '?') || ':' ||"
		" coalesce(o.line, 0) END || coalesce(' ' || p.why, '') AS expected,"
		" p.waited + p.delayed AS cost,"
		" max(p.waited + p.delayed) OVER (PARTITION BY f.id, a.function, a.line) AS most"
		" FROM finding f JOIN finding_place p ON p.finding = f.id"
		" LEFT JOIN site a ON a.id = p.site LEFT JOIN site o ON o.id = p.other_site"
		" WHERE f.shown AND p.shown) WHERE cost * 2 >= most ORDER BY expected",
		1 },
	/* Includes findings below the threshold, as they may exceed it in the next run. */
	{ "fingerprints", "all findings as check --known reads them",
		"SELECT fingerprint FROM finding_place GROUP BY fingerprint ORDER BY min(id)", 0 },
	{ "accesses", "what kernels read and write, a line per shape and parameter",
		"SELECT k.name AS kernel, h.id AS shape,"
		" (SELECT count(*) FROM launch l WHERE l.shape = h.id) AS launches,"
		" coalesce(a.evidence, c.evidence) AS evidence,"
		" CASE WHEN coalesce(s.complete, c.complete) = 1 THEN 'all'"
		" ELSE coalesce(s.why, c.why, 'in part') END AS known,"
		" coalesce(v.name, a.offset || '') AS parameter,"
		" a.direction || CASE a.sure WHEN 0 THEN ' perhaps' ELSE '' END ||"
		" CASE a.spins WHEN 1 THEN ' spins' ELSE '' END AS direction,"
		" a.low, a.high, CASE WHEN a.exact = 1 THEN 'these' ELSE 'at most' END AS bytes,"
		" a.run || coalesce(', ' || a.count1 || ' every ' || a.stride1, '') ||"
		" coalesce(', ' || a.count2 || ' every ' || a.stride2, '') ||"
		" coalesce(', ' || a.count3 || ' every ' || a.stride3, '') AS runs"
		" FROM kernel k JOIN kernel_code c ON c.kernel = k.id"
		" LEFT JOIN shape h ON h.kernel = k.id LEFT JOIN shape_code s ON s.shape = h.id"
		" LEFT JOIN kernel_access a ON a.kernel = k.id"
		"  AND coalesce(a.shape, -1) = coalesce(s.shape, -1)"
		" LEFT JOIN kernel_variable v ON v.kernel = k.id AND v.offset = a.offset"
		" ORDER BY launches DESC, k.id, h.id, a.offset, a.direction, a.low",
		0 },
	{ "events", "event records and the waits for them",
		"SELECT t.name AS call, coalesce(s.text, '') AS site,"
		" coalesce(rt.name, 'none') AS record, coalesce(rs.text, '') AS recorded_at,"
		" count(*) AS waits, sum(1 - w.sure) AS unsure"
		" FROM event_wait w JOIN call c ON c.id = w.call JOIN call_type t ON t.id = c.type"
		" LEFT JOIN site s ON s.id = c.site LEFT JOIN call r ON r.id = w.record"
		" LEFT JOIN call_type rt ON rt.id = r.type LEFT JOIN site rs ON rs.id = r.site"
		" GROUP BY t.id, s.id, rt.id, rs.id, t.name, s.text, rt.name, rs.text"
		" ORDER BY waits DESC, 1, 2, 3, 4",
		0 },
	{ "unmatched", "operations without a recorded call",
		"SELECT o.id, o.kind, coalesce(k.name, '') AS kernel, o.correlation, o.start"
		" FROM operation o LEFT JOIN kernel k ON k.id = o.kernel"
		" WHERE o.call IS NULL AND o.kind IN ('kernel', 'memcpy', 'memset')"
		" ORDER BY o.id",
		0 },
	{ "occupancy", "how long each stream was busy, and when",
		"SELECT s.id, s.kind, o.device, count(*) AS operations,"
		" sum(" TOOK ") AS busy_ns, min(o.start) AS first_ns, max(o.end) AS last_ns,"
		" round(100.0 * sum(" TOOK ") / nullif(max(o.end) - min(o.start), 0), 1)"
		"  AS busy_percent"
		" FROM operation o JOIN stream s ON s.id = o.stream WHERE o.end >= o.start"
		" GROUP BY s.id, s.kind, o.device ORDER BY busy_ns DESC, s.id",
		0 },
	/* An overlapping operation ends at most the longest duration after the other's end. */
	{ "overlap", "for each pair of streams, how long both were running something",
		"SELECT a.stream, b.stream AS other, count(*) AS pairs,"
		" sum(CASE WHEN a.end < b.end THEN a.end ELSE b.end END"
		"  - CASE WHEN a.start > b.start THEN a.start ELSE b.start END) AS overlap_ns"
		" FROM operation a JOIN operation b ON b.stream > a.stream AND b.end > a.start"
		"  AND b.end <= a.end + (SELECT max(x.end - x.start) FROM operation x)"
		"  AND b.start < a.end AND b.device = a.device AND b.process = a.process"
		"  AND a.recorded_end IS NULL AND b.recorded_end IS NULL"
		" GROUP BY a.stream, b.stream ORDER BY overlap_ns DESC, a.stream, b.stream",
		0 },
	{ "account", "where the time of each turn of the loop went, or of the run without one",
		"SELECT a.process, coalesce(a.device || '', 'host') AS device, a.cause,"
		" coalesce(f.text, '') AS \"from\", coalesce(s.text, '') AS site,"
		" sum(a.time) AS total_ns, sum(a.times) AS times,"
		" sum(a.time) / coalesce(l.turns, 1) AS turn_ns,"
		" round(100.0 * sum(a.time) / sum(sum(a.time))"
		"  OVER (PARTITION BY a.process, a.device), 1) AS percent"
		" FROM account a LEFT JOIN loop l ON l.process = a.process"
		" LEFT JOIN site f ON f.id = a.from_site LEFT JOIN site s ON s.id = a.site"
		" GROUP BY a.process, a.device, a.cause, f.text, s.text, l.turns"
		" ORDER BY a.process, a.device IS NULL, a.device, total_ns DESC, a.cause, 4, 5",
		0 },
	{ "copies", "copies by kind of memory",
		"SELECT CASE WHEN copy_kind = 1 AND src_memory = 'device' THEN 'staging' ELSE"
		"  coalesce(src_memory, '?') END AS src,"
		" CASE WHEN copy_kind = 2 AND dst_memory = 'device' THEN 'staging' ELSE"
		"  coalesce(dst_memory, '?') END AS dst,"
		" kind, count(*) AS copies, sum(bytes) AS bytes, sum(" TOOK ") AS busy_ns,"
		" round(1.0 * sum(CASE WHEN recorded_end IS NULL THEN bytes END)"
		"  / nullif(sum(" TOOK "), 0), 2) AS gb_per_s"
		" FROM operation o WHERE kind IN ('memcpy', 'peer') GROUP BY 1, 2, kind"
		" ORDER BY busy_ns DESC, src, dst",
		0 },
	{ "gaps", "the longest intervals in which a device idled, and what ended them",
		"SELECT g.device, g.since AS from_ns, g.start - g.since AS idle_ns, g.kind,"
		" coalesce(k.name, '') AS kernel, t.name AS call, s.text AS site,"
		" CASE WHEN c.enter < g.since THEN 0 WHEN c.enter < g.start THEN"
		"  c.enter - g.since WHEN c.enter IS NOT NULL THEN g.start - g.since END"
		"  AS until_submitted_ns"
		" FROM (SELECT id, device, kind, kernel, call, start, max(" RAN_UNTIL ") OVER"
		"   (PARTITION BY process, device ORDER BY start, id"
		"    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS since"
		"  FROM operation WHERE \"end\" >= start) g"
		" LEFT JOIN kernel k ON k.id = g.kernel LEFT JOIN call c ON c.id = g.call"
		" LEFT JOIN call_type t ON t.id = c.type LEFT JOIN site s ON s.id = c.site"
		" WHERE g.start > g.since ORDER BY idle_ns DESC, g.id LIMIT 20",
		0 },
	{ "allocations", "the life of every piece of memory, in order of time",
		"SELECT a.id, a.memory, a.bytes, c.exit AS made_ns, f.enter AS freed_ns,"
		" s.text AS made_at, z.text AS freed_at"
		" FROM allocation a LEFT JOIN call c ON c.id = a.created"
		" LEFT JOIN call f ON f.id = a.freed LEFT JOIN site s ON s.id = c.site"
		" LEFT JOIN site z ON z.id = f.site ORDER BY a.id",
		0 },
	{ "growth", "when the memory of each kind reached a new height",
		"SELECT memory, at_ns, live_bytes FROM (SELECT *, max(live_bytes) OVER"
		"  (PARTITION BY process, memory ORDER BY at_ns, id"
		"   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM ("
		"  SELECT *, sum(change) OVER (PARTITION BY process, memory ORDER BY at_ns, id)"
		"    AS live_bytes FROM ("
		"   SELECT a.process, a.memory, a.id, a.bytes AS change,"
		"    coalesce(c.exit, 0) AS at_ns"
		"    FROM allocation a LEFT JOIN call c ON c.id = a.created"
		"   UNION ALL SELECT a.process, a.memory, a.id, -a.bytes, f.enter"
		"    FROM allocation a JOIN call f ON f.id = a.freed)))"
		" WHERE live_bytes > coalesce(before, 0) ORDER BY memory, at_ns",
		0 },
	{ "kernels", "kernels, those that took longest first",
		"SELECT k.name, count(*) AS launches, sum(" TOOK ") AS busy_ns,"
		" sum(" TOOK ") / count(" TOOK ") AS mean_ns, min(" TOOK ") AS least_ns,"
		" max(" TOOK ") AS most_ns FROM operation o JOIN kernel k ON k.id = o.kernel"
		" WHERE o.end >= o.start GROUP BY k.name ORDER BY busy_ns DESC, k.name",
		0 },
	{ "latency", "from the call that submitted an operation to its start",
		"SELECT o.kind, coalesce(k.name, '') AS kernel, count(*) AS operations,"
		" min(o.start - c.enter) AS least_ns, sum(o.start - c.enter) / count(*) AS mean_ns,"
		" max(o.start - c.enter) AS most_ns FROM operation o JOIN call c ON c.id = o.call"
		" LEFT JOIN kernel k ON k.id = o.kernel WHERE o.start IS NOT NULL"
		" GROUP BY o.kind, k.name ORDER BY most_ns DESC, kernel",
		0 },
	{ "threads", "time each thread spent in calls",
		"SELECT p.pid, h.tid, coalesce(h.name, '') AS name, count(c.id) AS calls,"
		" sum(c.exit - c.enter) AS inside_ns, min(c.enter) AS first_ns,"
		" max(c.exit) AS last_ns"
		" FROM thread h JOIN process p ON p.id = h.process"
		" JOIN call c ON c.thread = h.id AND c.parent IS NULL"
		" GROUP BY h.id, p.pid, h.tid, h.name ORDER BY inside_ns DESC, h.id",
		0 },
	{ "overhead", "the driver's own work, by kind and call",
		"SELECT o.kind, t.name AS call, count(*) AS times, sum(o.end - o.start) AS total_ns"
		" FROM overhead o LEFT JOIN call c ON c.id = o.call"
		" LEFT JOIN call_type t ON t.id = c.type GROUP BY o.kind, t.name"
		" ORDER BY total_ns DESC, o.kind",
		0 },
	{ "ranges", "the program's own ranges, by name",
		"SELECT name, count(*) AS times, sum(r.end - r.start) AS total_ns,"
		" max(r.end - r.start) AS longest_ns"
		" FROM range r WHERE r.end > r.start GROUP BY name"
		" ORDER BY total_ns DESC, name",
		0 },
	{ "polling", "loops of queries with the same answer",
		"SELECT t.name, s.text, count(*) AS loops, sum(p.count) AS queries,"
		" sum(p.last - c.enter) AS total_ns FROM polling p JOIN call c ON c.id = p.call"
		" JOIN call_type t ON t.id = c.type LEFT JOIN site s ON s.id = c.site"
		" GROUP BY t.id, s.id, t.name, s.text ORDER BY total_ns DESC",
		0 },
	{ "settings", "settings and properties of each process",
		"SELECT pid, name, value FROM property JOIN process ON id = process"
		" ORDER BY pid, name",
		0 },
	{ "ranks", "processes by rank, with their host and device",
		"SELECT r.rank, r.local_rank, r.world, r.launcher, r.host, p.pid, r.device,"
		" d.name AS device_name FROM rank r JOIN process p ON p.id = r.process"
		" LEFT JOIN device d ON d.process = r.process AND d.ordinal = r.device"
		" ORDER BY r.rank, p.id",
		0 },
	{ "collectives", "calls of NCCL, by function, size and communicator",
		"SELECT p.pid, m.rank, m.ranks, t.name, l.elements, l.type, count(*) AS calls,"
		" sum(" TOOK ") AS busy_ns, min(" TOOK ") AS shortest_ns, max(" TOOK
		") AS longest_ns FROM collective l JOIN communicator m ON m.id = l.communicator"
		" JOIN process p ON p.id = l.process JOIN call c ON c.id = l.call"
		" JOIN call_type t ON t.id = c.type LEFT JOIN operation o ON o.id = l.operation"
		" GROUP BY m.id, t.id, l.elements, l.type ORDER BY busy_ns DESC, m.id, t.name",
		0 },
	{ "missing", "recorded data known to be missing",
		/* Of those that reports do not mention, this is the only one. */
		"SELECT pid, reason, count, iif(reason = 'passed_through', 'looked-up driver"
		" functions without a wrapper: queries and settings that order nothing, or newer"
		" than this cufence', loss_text(reason, count, cupti, cupti_error,"
		" (SELECT value FROM property WHERE property.process = p.id"
		"  AND name = 'cupti.holder'))) AS meaning"
		" FROM loss l JOIN process p ON p.id = l.process ORDER BY pid, reason",
		1 },
	{ NULL, NULL, NULL, 0 }
};
