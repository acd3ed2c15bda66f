/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of the timeline; a lane is created with its first item. */
#ifndef CUFENCE_HTML_LANES_H
#define CUFENCE_HTML_LANES_H

#include "html_timeline.h"

struct html_lanes {
	struct html_timeline *timeline;
	struct map known; /* hash of the thread, stream or range depth -> lane + 1 */
	sqlite3_stmt *thread, *stream;
};

/* 0, or -1 after a message.  html_lanes_close() in both cases. */
int html_lanes_open(struct html_lanes *lanes, struct html_timeline *timeline);
void html_lanes_close(struct html_lanes *lanes);

/* The lane of a thread; of a stream, DB_NULL: not known which.  -1 after a message. */
int64_t html_lane_of_thread(struct html_lanes *lanes, int64_t process, int64_t thread);
int64_t html_lane_of_stream(struct html_lanes *lanes, int64_t process, int64_t device,
	int64_t stream);

/* The lane of a thread's ranges of a depth, from 1 on; -1 after a message. */
int64_t html_lane_of_ranges(struct html_lanes *lanes, int64_t process, int64_t thread, int depth);

/* Puts them in the order in which people look for them, those of the items with them: by process,
 * threads first, below their ranges, then streams by device.  0, or -1 after a message. */
int html_lanes_sort(struct html_timeline *timeline);

#endif
