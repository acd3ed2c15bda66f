/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment after a wait: activity of the thread and the device from a wait to the next one that
 * covers the same operation.  waits_avoidable.c derives the wait's cost from it.
 */
#ifndef CUFENCE_WAITS_SEGMENT_H
#define CUFENCE_WAITS_SEGMENT_H

#include "db.h"
#include "wait.h"
#include "walk.h"

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
 * Fills *wait->next, which must be zero; free it with spans_release(&wait->next->spans) in any
 * case.  May set wait->partner and wait->result.  Returns 0, or -1 after a message.
 */
int segments_measure(struct segments *segments, struct wait *wait);

/* Is the site of a call a line of a script?  Returns -1 after a message. */
int segments_of_script(struct segments *segments, int64_t call);

/*
 * Could the call's own operation have been concurrent with the operation that it waited for?
 * Returns -1 after a message.
 */
int segments_own_apart(struct segments *segments, const struct wait *wait);

/*
 * Were two calls made from one line of a script?  Returns -1 after a message.  Does not apply to
 * compiled code, where waits are visible in the source, on any line.
 */
int segments_of_one_line(struct segments *segments, int64_t call, int64_t other);

#endif
