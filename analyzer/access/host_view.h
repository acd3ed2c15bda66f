/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds whether the host may access results of an operation: then it has to wait for the operation.
 * Unknown counts as yes.
 */
#ifndef CUFENCE_HOST_VIEW_H
#define CUFENCE_HOST_VIEW_H

#include "access.h"
#include "map.h"
#include "run_columns.h"
#include "walk.h"

/* Empty when zero-initialized. */
struct host_view {
	const struct run *run;
	struct map memory;   /* process -> 1 + the first call that allocated host memory */
	struct map last;     /* allocation of host memory -> the last call that names it */
	struct map printers; /* kernels that print, or may print */
	struct map others;   /* processes whose memory others may use */
};

/* Returns 0, or -1 after a message; host_view_release() in both cases. */
int host_view_find(struct host_view *view, struct db *db);
void host_view_release(struct host_view *view);

/*
 * Returns 1 if the host may access results of an operation, or refill its source.  shown: the
 * memory that it names suggests so.  Kernels that print count, and kernels with unknown writes if
 * there is memory that host and device share.  The source of a copy does not count if no later call
 * names it.  Returns -1 after a message.
 */
int host_view_may_read(const struct host_view *view, struct access_reader *reader,
	const struct walk_call *call, int shown);

/*
 * Returns 1 if others may use the process's device memory in an order of their own: processes that
 * share its memory or run at the same time, other interfaces, and network cards, which message
 * passing allows to read it without a CUDA call.
 */
int host_view_has_others(const struct host_view *view, int64_t process);

#endif
