/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections between items of the timeline: fences (an event that a stream waits for), waits of
 * the host, operations that the device held until others completed; and the begin of loops' turns.
 */
#ifndef CUFENCE_HTML_ARROWS_H
#define CUFENCE_HTML_ARROWS_H

#include "html_pack.h"
#include "html_timeline.h"

/* An arrow between two items of the timeline. */
struct html_arrow {
	int64_t from, to;
};

struct html_arrows {
	struct html_arrow *arrow; /* by to, then from; each once */
	size_t count;
};

/*
 * Reads fences (from the work before the record to the work after the wait), host waits (from the
 * operation to the call) and operations that the device held until others completed.  0, or -1
 * after a message; the caller frees the arrows in both cases.
 */
int html_arrows_fences(const struct html_timeline *timeline, struct html_arrows *arrows);
int html_arrows_waits(const struct html_timeline *timeline, struct html_arrows *arrows);
int html_arrows_holds(const struct html_timeline *timeline, struct html_arrows *arrows);

/* Writes all of them, and the turns of loops: 0, or -1 after a message. */
int html_arrows_write(const struct html_timeline *timeline, struct pack *pack);

#endif
