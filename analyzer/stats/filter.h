/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters after the run.  Work counts as the call's that submitted it, with its time and thread,
 * and a wait as that of the operation that it waited for.
 */
#ifndef CUFENCE_FILTER_H
#define CUFENCE_FILTER_H

#include <stdint.h>

#include "db.h"

/* NULL keeps everything. */
struct filter {
	const char *stream; /* CUPTI's number, stream.kind, or its name or a pattern */
	const char *kernel; /* part of its demangled name, or a pattern for its label */
	const char
		*range; /* name of NVTX ranges, or a pattern: what they contain, in all threads */
	const char *process; /* pid */
	const char *thread;  /* kernel's id or name */
	const char *time;    /* as it was given; what holds are the next two */
	int64_t from, until; /* ns; DB_NULL */
};

/* The first seven parameters of a statement that has the conditions below. */
#define FILTER_TYPES "sssssII"
#define FILTER_VALUES(f) \
	(f)->stream, (f)->kernel, (f)->range, (f)->process, (f)->thread, (f)->from, (f)->until

/* SQL: 1 if the filter keeps a thing, by its columns stream and kernel; else 0 or NULL. */
#define FILTER_KEEPS_WORK \
	"(?1 IS NULL OR stream IN (SELECT id FROM stream" \
	"  WHERE kind = ?1 OR name = ?1 OR name GLOB ?1" \
	"  OR CAST(coalesce(cupti_id, id) AS TEXT) = ?1))" \
	" AND (?2 IS NULL OR kernel IN (SELECT k.id FROM kernel k" \
	"  LEFT JOIN kernel_name n ON n.kernel = k.id WHERE instr(coalesce(n.whole, k.name), ?2)" \
	"  OR coalesce(n.label, k.name) GLOB ?2))"
/* The same by those of its call: process, thread, and time at. */
#define FILTER_KEEPS_CALL(thing) \
	"(?3 IS NULL OR at <= coalesce((SELECT s.end FROM temp.span s WHERE s.process = " thing \
	".process AND s.start <= at ORDER BY s.start DESC LIMIT 1), -1))" \
	" AND (?4 IS NULL OR " thing \
	".process IN (SELECT id FROM process WHERE pid = ?4))" \
	" AND (?5 IS NULL OR " thing \
	".thread IN (SELECT id FROM thread WHERE tid = ?5 OR name = ?5))" \
	" AND (?6 IS NULL OR at >= ?6) AND (?7 IS NULL OR at < ?7)"

/* Fills temp.span, which the conditions use: 0, or -1 after a message. */
int filter_begin(struct db *db, const struct filter *filter);

/*
 * After verdict_begin() and what merges findings of several processes (merge.h), whose tables
 * it reads.  For the rest of the connection, table finding has only findings of which an instance
 * is kept, and the places of which none is are not shown.  Instances are calls of the same kind at
 * a place's lines, more than were stored.  What cannot be decided stays: a place that was not
 * recorded, and streams and kernels where no instance has any.  Table replay, about all findings,
 * is empty if one is left out.  *text, to be freed by sqlite3_free(), is "only findings on stream
 * 14: 2 of 5", or NULL for a filter that keeps everything.  0, or -1 after a message.
 */
int filter_findings(struct db *db, const struct filter *filter, char **text);

#endif
