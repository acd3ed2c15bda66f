/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What connects items of the timeline: fences (an event that a stream waits for), waits of the
 * host, operations that the device held behind others; and where the turns of loops begin.
 */
#ifndef CUFENCE_HTML_ARROWS_H
#define CUFENCE_HTML_ARROWS_H

#include "html_pack.h"
#include "html_timeline.h"

/* 0, or -1 after a message. */
int html_arrows_write(const struct html_timeline *timeline, struct pack *pack);

#endif
