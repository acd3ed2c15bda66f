/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the finished order graph (table edge, and what follows from the order of streams).
 *
 * A way goes from a later call to what it needs.  A call on it is reached complete, or up to its
 * start: then its own operation is not on the way, nor what comes only "afterwards".
 */
#ifndef CUFENCE_ORDER_PATH_H
#define CUFENCE_ORDER_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "order.h"

struct order_path;

/* NULL after a message. */
struct order_path *order_path_open(struct db *db);
void order_path_close(struct order_path *path);

/*
 * Whether the device or a host wait itself orders call after earlier: by streams, events and
 * legacy work, not because some thread had waited in between.  1 or 0; 1 too where the answer
 * would take more than a few thousand steps; -1 after a message.  What one answer of 0 has seen the
 * next one about the same earlier call does not go through again.
 */
int order_path_exists(struct order_path *path, int64_t call, int64_t earlier);

/* Likewise, if each of the calls moved were made in a stream of its own instead of a default
 * stream.  What comes after it stays after it. */
int order_path_exists_moved(struct order_path *path, int64_t call, int64_t earlier,
	const int64_t *moved, size_t count);

/* A step of a way: call needs the earlier one. */
struct order_link {
	int64_t call, needs;
	enum order_reason reason;
};

/*
 * A shortest way from call to earlier with no step less sure than that, the earlier one complete:
 * 1 and the steps, from earlier to call, which the caller frees; 0 if there is none; -1.
 */
int order_path_find(struct order_path *path, int64_t call, int64_t earlier,
	enum order_strength strength, struct order_link **link, size_t *count);

#endif
