/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides whether operations can run at the same time, as far as it is recorded.
 */
#ifndef CUFENCE_SHAPE_H
#define CUFENCE_SHAPE_H

#include "db.h"

/* From the entry of a launch to the start on an idle device: 6 microseconds, 99 % 11 (H200). */
#define LAUNCH_LATENCY_NS 11000
/* From the end of an operation to the start of one that waited for it: 1.3 microseconds between
 * kernels, up to 9 before a copy (H200); the sum of both stamps' errors on top. */
#define HANDOVER_NS 20000
/* Less than this is not told from a late start. */
#define HOLD_MIN_NS 20000

struct shape {
	char kind;        /* k: kernel, c: copy, s: set, o: other */
	int64_t copy_kind;
	double part;      /* of the device that a kernel takes at least, 1 and more: all of it.  By
			   * its threads and blocks: registers may let in fewer. */
};

struct shapes {
	sqlite3_stmt *rows;
};

/* Each: 0, or -1 after a message. */
int shapes_open(struct shapes *shapes, struct db *db);
int shape_read(struct shapes *shapes, int64_t op, struct shape *shape);
void shapes_close(struct shapes *shapes);

/* Not: kernels of which one fills the device, copies in one direction. */
int shape_can_overlap(const struct shape *a, const struct shape *b);

#endif
