/* SPDX-License-Identifier: Apache-2.0 */
/* What of a wait was avoidable (avoidable.c), asked of all waits (avoidable_all.c). */
#ifndef CUFENCE_AVOIDABLE_INTERNAL_H
#define CUFENCE_AVOIDABLE_INTERNAL_H

#include "access.h"
#include "id_map.h"
#include "map.h"
#include "order_path.h"
#include "script_lines.h"
#include "stretches.h"
#include "wait.h"
#include "walk.h"

/* What is asked of the waits of one process in so many. */
struct avoidable {
	struct db *db;
	struct walk_thread *walk;
	struct order_path *path;
	struct access_reader *reader;
	struct script_lines lines;
	struct id_map pinned; /* struct pinned_rate, by process */
	struct run *run;
	struct stretches stretches;
	struct map written; /* allocations that an operand other than a source names */
	int knows_written;
};

/*
 * Sets what the wait cost in its row.  last: of each process its last call that submits an
 * operation, after which it is ending.  Returns 0 or more, or -1 after a message.
 */
int avoidable_judge(struct avoidable *a, struct wait *wait, const struct map *last);

#endif
