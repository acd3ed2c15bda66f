/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds launches for which the driver enlarges memory shared by all kernels, for which it drains
 * the device.  Measured on an H200 (driver 580.159): local memory is enlarged by a launch whose
 * kernel needs more of it (CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) than the context's stack limit and
 * than every kernel launched in the context before, and it is never reduced.  The printf buffer is
 * allocated by the first launch in a context of a kernel that calls printf.
 *
 * Processes every call of a run in order.
 */
#ifndef CUFENCE_RESIZES_H
#define CUFENCE_RESIZES_H

#include "db.h"
#include "walk.h"

enum resize {
	RESIZE_UNKNOWN, /* some property of this kernel, or of an earlier one, is unknown */
	RESIZE_NO,
	RESIZE_YES,
};

struct resizes;

/* NULL after a message. */
struct resizes *resizes_new(struct db *db);
void resizes_free(struct resizes *resizes);

/* RESIZE_UNKNOWN unless the call launched a kernel. */
enum resize resizes_process_call(struct resizes *resizes, const struct walk_call *call);

#endif
