/* SPDX-License-Identifier: Apache-2.0 */
#include "queries.h"

#include <stddef.h>

const struct query queries[] = {
	{"calls", "time inside calls, by name",
		"SELECT t.name, count(*) AS calls, sum(c.exit - c.enter) AS total_ns,"
		" max(c.exit - c.enter) AS longest_ns, sum(c.result IS NOT 0) AS failed"
		" FROM call c JOIN call_type t ON t.id = c.type GROUP BY t.name"
		" ORDER BY total_ns DESC, t.name"},
	{"streams", "streams and what ran on them",
		"SELECT s.id, s.kind, s.context, s.cupti_id, count(o.id) AS operations,"
		" coalesce(sum(o.end - o.start), 0) AS busy_ns"
		" FROM stream s LEFT JOIN operation o ON o.stream = s.id GROUP BY s.id ORDER BY "
		"s.id"},
	{"operations", "operations per kind and kernel",
		"SELECT o.kind, coalesce(k.name, '') AS kernel, count(*) AS operations,"
		" sum(o.end - o.start) AS busy_ns, sum(o.bytes) AS bytes"
		" FROM operation o LEFT JOIN kernel k ON k.id = o.kernel"
		" GROUP BY o.kind, k.name ORDER BY busy_ns DESC, kernel"},
	{"sites", "call sites, the busiest first",
		"SELECT s.text, s.function, t.name, count(*) AS calls, sum(c.exit - c.enter) AS "
		"total_ns"
		" FROM call c JOIN call_type t ON t.id = c.type JOIN site s ON s.id = c.site"
		" GROUP BY s.id, t.id ORDER BY total_ns DESC"},
	{"waits", "calls that the device held",
		"SELECT w.kind, t.name, s.text, count(*) AS times, sum(w.waited) AS waited_ns"
		" FROM wait w JOIN call c ON c.id = w.call JOIN call_type t ON t.id = c.type"
		" LEFT JOIN site s ON s.id = c.site"
		" GROUP BY w.kind, t.id, s.id ORDER BY waited_ns DESC"},
	{"expect", "shown findings in a form that tests compare",
		"SELECT f.rule || ' ' || f.confidence || ' ' ||"
		" coalesce(a.function, '?') || ':' || coalesce(a.line, 0) ||"
		" CASE WHEN o.id IS NULL THEN '' ELSE ' -> ' || coalesce(o.function, '?') || ':' ||"
		" coalesce(o.line, 0) END AS expected"
		" FROM finding f LEFT JOIN site a ON a.id = f.site"
		" LEFT JOIN site o ON o.id = f.other_site WHERE f.shown ORDER BY expected"},
	{"unmatched", "operations without a recorded call",
		"SELECT o.id, o.kind, coalesce(k.name, '') AS kernel, o.correlation, o.start"
		" FROM operation o LEFT JOIN kernel k ON k.id = o.kernel"
		" WHERE o.call IS NULL AND o.kind IN ('kernel', 'memcpy', 'memset') ORDER BY o.id"},
	{NULL, NULL, NULL}};
