/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides whether operations can run at the same time, as far as it is recorded.
 */
#ifndef CUFENCE_CONCURRENCY_H
#define CUFENCE_CONCURRENCY_H

#include "db.h"

struct shape {
	char kind; /* k: kernel, c: copy, s: set, o: other */
	int64_t copy_kind;
	double part; /* of the device that a kernel takes at least, 1 and more: all of it.  By
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
