/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own named ranges (NVTX) on the timeline, above the calls of their thread. */
#ifndef CUFENCE_HTML_RANGES_H
#define CUFENCE_HTML_RANGES_H

#include "html_lanes.h"

/* Adds them to the timeline: 0, or -1 after a message. */
int html_ranges_read(struct html_lanes *lanes);

#endif
