/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths in the finished order graph (table edge, and the order within streams).
 *
 * A path goes from a later call to a call that it needs.  A call on it is reached complete, or up
 * to its start: then the path contains neither its own operation nor edges of reason "afterwards".
 */
#ifndef CUFENCE_ORDER_PATH_H
#define CUFENCE_ORDER_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "order.h"
#include "run_evidence.h"

struct order_path;

/* Sorts the edges of a walk over all of the run, which paths then follow. */
void order_path_sort_edges(struct run_evidence *evidence);

/* Returns NULL after a message. */
struct order_path *order_path_open(struct db *db);
void order_path_close(struct order_path *path);

/*
 * Do the device or a host wait itself order call after earlier: by streams, events and legacy work,
 * not because some thread had waited in between?  Returns 1 or 0, -1 after a message; 1 too if the
 * answer takes more than a few thousand steps.  Calls searched for an answer of 0 are not searched
 * again for the next question about the same earlier call.
 */
int order_path_exists(struct order_path *path, int64_t call, int64_t earlier);

/*
 * Likewise, if each of the calls moved were made in a stream of its own instead of a default
 * stream.  Work after such a call stays after it.
 */
int order_path_exists_moved(struct order_path *path, int64_t call, int64_t earlier,
	const int64_t *moved, size_t count);

/* An edge of a path: call needs the earlier one. */
struct order_link {
	int64_t call, needs;
	enum order_reason reason;
};

/*
 * Finds a shortest path from call to earlier, complete, of edges with at least that strength.
 * Returns 1 with the edges from earlier to call, which the caller frees; 0 if there is none; -1
 * after a message.
 */
int order_path_find(struct order_path *path, int64_t call, int64_t earlier,
	enum order_strength strength, struct order_link **link, size_t *count);

#endif
