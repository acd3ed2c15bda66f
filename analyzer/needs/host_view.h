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
	/* process -> 1 + the first call that allocated host memory, 0: its device accesses all */
	struct map memory;
	struct map strays;   /* shapes of launches that access an address in no known allocation */
	struct map last;     /* allocation of host memory -> the last call that names it */
	struct map printers; /* kernels that print, or may print */
	struct map others;   /* processes whose memory others may use: enum host_view_others */
};

/* Do others use a process's device memory in an order of their own? */
enum host_view_others {
	OTHERS_NONE,
	OTHERS_LOADED, /* a library for that is a part of a framework, or may have been loaded */
	OTHERS_MAY,
};

/* Returns 0, or -1 after a message; host_view_release() in both cases. */
int host_view_find(struct host_view *view, struct db *db);
void host_view_release(struct host_view *view);

/* Whether the host may access results of an operation, or refill its source. */
enum host_view_shown {
	SHOWN_NOTHING,
	SHOWN_MAYBE, /* a kernel with unknown writes; there is memory that host and device share */
	SHOWN,       /* by the memory that it names, or a kernel that prints */
};

/*
 * Returns an enum host_view_shown.  shown: the memory that the operation names suggests so.  The
 * source of a copy does not count if no later call names it.  Returns -1 after a message.
 */
int host_view_may_read(const struct host_view *view, struct access_reader *reader,
	const struct walk_call *call, int shown);

/*
 * Others are processes that share its memory or run at the same time, other interfaces, and network
 * cards and files, which libraries allow to access it without a CUDA call.
 */
enum host_view_others host_view_others(const struct host_view *view, int64_t process);

#endif
