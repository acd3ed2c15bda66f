/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment after a wait: activity of the thread and the device from a wait to the next one that
 * covers the same operation.  waits_avoidable.c derives the wait's cost from it.
 */
#ifndef CUFENCE_WAITS_SEGMENT_H
#define CUFENCE_WAITS_SEGMENT_H

#include "db.h"
#include "spans.h"
#include "walk.h"

/* A wait that may be avoidable. */
struct judged_wait {
	int64_t id, call, thread, process, enter, exit, waited;
	int64_t op_call, op_start, op_end; /* the operation it waited for */
	int64_t stream, context;           /* of that operation */
	enum stream_kind stream_kind;
	int device, stretch;
	int64_t partner; /* as wait.partner, if made from the same line; 0: none */
	int explicit_wait;
	int is_async;   /* an Async copy */
	int on_default; /* a copy or memset in a default stream */
	int to_host;    /* a synchronous copy to the host */
	int is_copy;    /* any synchronous copy or memset */
	int staged;     /* wait.kind */
	int leaves;     /* its fix moves this Async copy out of the legacy default stream */
	int64_t result; /* set by segments_measure(): a copy to the host that closed the segment and
			 * would have waited in its place, 0: none */
	int past_results;           /* such copies are fixed too */
	int64_t own_start, own_end; /* of its own operation; own_end INT64_MIN: none */
	int64_t own_stream, own_context;
	enum stream_kind own_kind;
	int own_device;
};

/* Maximum length of a row: consecutive copies that are one mistake. */
#define SEGMENT_ROW 8

/* The time between a wait and the next one that covers its operation. */
struct segment {
	struct spans spans;
	int64_t until;            /* entry of the next one, or return of the thread's last call */
	int64_t last_end;         /* last end of an operation */
	int64_t elsewhere, apart; /* sums, ns */
	int submits, after, legacy;
	int64_t row[SEGMENT_ROW];
	size_t row_count;
	size_t async_count; /* Async copies of the row, which keep their order */
};

/* Queries and walks of one database. */
struct segments {
	struct walk_thread *walk;
	struct order_path *path;
	struct access_reader *reader;
	struct sharing *sharing;
	struct words *words;
	struct places *places;
	const struct run *run;
	sqlite3_stmt *is_script;
};

/* Returns 0, or -1 after a message; call segments_close() in both cases. */
int segments_open(struct segments *segments, struct db *db);
void segments_close(struct segments *segments);

/*
 * Fills *segment, which must be zero; free it with spans_release(&segment->spans) in any case. May
 * set wait->partner.  Returns 0, or -1 after a message.
 */
int segments_measure(struct segments *segments, struct judged_wait *wait, struct segment *segment);

/* Is the site of a call a line of a script?  Returns -1 after a message. */
int segments_of_script(struct segments *segments, int64_t call);

/*
 * Could the call's own operation have been concurrent with the operation that it waited for?
 * Returns -1 after a message.
 */
int segments_own_apart(struct segments *segments, const struct judged_wait *wait);

/*
 * Were two calls made from one line of a script?  Returns -1 after a message.  Does not apply to
 * compiled code, where waits are visible in the source, on any line.
 */
int segments_of_one_line(struct segments *segments, int64_t call, int64_t other);

#endif
