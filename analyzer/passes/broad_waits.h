/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The long waits for a stream or the device, which pass_broad_sync.c tries to make narrower.
 */
#ifndef CUFENCE_BROAD_WAITS_H
#define CUFENCE_BROAD_WAITS_H

#include "broad_places.h"
#include "order.h"
#include "run_columns.h"

/* A wait, and the operation that ended last of those it waited for. */
struct broad_wait {
	int64_t call, process;
	int64_t behind_call, behind_end;
};

/* The last operation that a wait was for. */
struct broad_behind {
	struct order_epoch loose;
};

/* Zero-initialized is empty. */
struct broad_waits {
	struct idmap map;    /* struct broad_wait, by call */
	struct idmap behind; /* struct broad_behind, by behind_call */
};

/* Finds them, and makes their places; 0, or -1 after a message. */
int broad_waits_find(struct broad_waits *waits, const struct run *run, struct broad_places *places,
	struct findings *findings);
void broad_waits_release(struct broad_waits *waits);

#endif
