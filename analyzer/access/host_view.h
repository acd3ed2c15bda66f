/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host may look at of what the device does, at most: a wait is needed for it.  Where that
 * is not known it may.
 */
#ifndef CUFENCE_HOST_VIEW_H
#define CUFENCE_HOST_VIEW_H

#include "access.h"
#include "map.h"
#include "run_columns.h"
#include "walk.h"

/* Zero-initialized is empty. */
struct host_view {
	const struct run *run;
	struct map memory;   /* process -> 1 + the first call that made memory of the host's */
	struct map last;     /* allocation of the host's -> the last call that names it */
	struct map printers; /* kernels that print, or of which that is not known */
	struct map others;   /* processes whose memory others may use */
};

/* 0, or -1 after a message; host_view_release() in both cases. */
int host_view_find(struct host_view *view, struct db *db);
void host_view_release(struct host_view *view);

/*
 * Whether the host may look at what an operation does; shown: its memory says so.  Besides, kernels
 * of which it is not known where they write, once there is memory that host and device share, and
 * what kernels print.  Not the source of a copy that nothing names again.  -1 after a message.
 */
int host_view_shows(const struct host_view *view, struct access_reader *reader,
	const struct walk_call *call, int shown);

/*
 * Others may use the process's memory of the device in an order of their own: processes that it
 * shares memory with or that work at the same time, other interfaces, and network cards, which
 * message passing lets read it without a CUDA call.
 */
int host_view_has_others(const struct host_view *view, int64_t process);

#endif
