/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment after a wait: what the thread and the device did from a wait to the next one that
 * covers the same operation. waits_avoidable.c derives the wait's cost from it.
 */
#ifndef CUFENCE_WAITS_SEGMENT_H
#define CUFENCE_WAITS_SEGMENT_H

#include "db.h"
#include "spans.h"
#include "walk.h"

/* A wait that may be avoidable. */
struct judged_wait {
	int64_t id, call, thread, process, enter, exit, waited;
	int64_t op_call, op_start, op_end; /* what it waited for */
	int64_t stream, context;           /* of that */
	enum stream_kind stream_kind;
	int device, stretch;
	int64_t partner; /* as wait.partner, if it is of the same line; 0: none */
	int explicit_wait;
	int is_async;               /* an Async copy */
	int on_default;             /* a copy or memset in a default stream */
	int to_host;                /* a synchronous copy to the host */
	int is_copy;                /* any synchronous copy or memset */
	int staged;                 /* wait.kind */
	int leaves;                 /* when fixed, this Async copy leaves the legacy default
				     * stream */
	int64_t result;             /* of segments_measure(): a copy to the host that closed the
	                                 segment and would have waited in its place, 0: none */
	int past_results;           /* those copies are fixed with it */
	int64_t own_start, own_end; /* of its own operation; end INT64_MIN: none */
	int64_t own_stream, own_context;
	enum stream_kind own_kind;
	int own_device;
};

/* Consecutive copies that are one mistake: the one that was blocked, and those after it. */
#define SEGMENT_ROW 8

/* What lies between a wait and the next that covers its operation. */
struct segment {
	struct spans spans;
	int64_t until;            /* it covers, or the last of the thread's calls returned */
	int64_t last_end;         /* of an operation */
	int64_t elsewhere, apart; /* ns in sum */
	int submits, after, legacy;
	int64_t row[SEGMENT_ROW];
	size_t row_count;
	size_t async_count; /* Async copies of the row, which keep their order */
};

/* What it takes to find them: queries and walks of one database. */
struct segments {
	struct walk_thread *walk;
	struct order_path *path;
	struct sharing *sharing;
	struct words *words;
	struct places *places;
	const struct run *run;
	sqlite3_stmt *is_script;
};

/* 0, or -1 after a message; segments_close() in both cases. */
int segments_open(struct segments *segments, struct db *db);
void segments_close(struct segments *segments);

/*
 * Fills *segment, which is to be zero before; spans_release(&segment->spans) frees it, in both
 * cases.  May set wait->partner.  0, or -1 after a message.
 */
int segments_measure(struct segments *segments, struct judged_wait *wait, struct segment *segment);

/* Whether the place of a call is a line of a script; -1 after a message. */
int segments_of_script(struct segments *segments, int64_t call);

/* Whether the call's own operation could have been concurrent with what it waited for; -1 after a
 * message. */
int segments_own_apart(struct segments *segments, const struct judged_wait *wait);

/*
 * Whether two calls were made from one line of a script; -1 after a message.  In compiled code who
 * writes a wait sees it, in whatever line.
 */
int segments_of_one_line(struct segments *segments, int64_t call, int64_t other);

#endif
