/* SPDX-License-Identifier: Apache-2.0 */
/* How far a long command is, as one line on a terminal's stderr; nothing where it is none. */
#ifndef CUFENCE_PROGRESS_H
#define CUFENCE_PROGRESS_H

#include <stdint.h>

struct progress {
	uint64_t total, done; /* in any unit */
	uint64_t next;        /* done, when something is to be shown */
	int shown;            /* a line is on the terminal */
};

void progress_start(struct progress *progress, uint64_t total);

/* Shows "cufence: WHAT, 42 %". */
void progress_show(struct progress *progress, const char *what);

/* Leaves no trace of it. */
void progress_end(struct progress *progress);

#endif
