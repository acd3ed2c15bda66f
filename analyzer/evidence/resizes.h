/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which launches make the driver set aside more of what all kernels share, for which it empties the
 * device.  Measured on an H200 (driver 580.159): room for local memory is made by a launch whose
 * kernel needs more of it (CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) than the context's stack limit and
 * than every kernel launched in the context before, and it is never given back; the first launch
 * in a context of a kernel that calls printf makes the buffer for that.
 *
 * Takes every call of a run in order.
 */
#ifndef CUFENCE_RESIZES_H
#define CUFENCE_RESIZES_H

#include "db.h"
#include "walk.h"

enum resize {
	RESIZE_UNKNOWN, /* something about this kernel, or about one before it, is not known */
	RESIZE_NO,
	RESIZE_YES,
};

struct resizes;

/* NULL after a message. */
struct resizes *resizes_new(struct db *db);
void resizes_free(struct resizes *resizes);

/* *resize of a call, RESIZE_UNKNOWN unless it launched a kernel; 0, or -1 after a message. */
int resizes_see(struct resizes *resizes, const struct walk_call *call, enum resize *resize);

#endif
