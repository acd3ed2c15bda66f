/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of a long command, as one line on stderr if that is a terminal. */
#ifndef CUFENCE_PROGRESS_H
#define CUFENCE_PROGRESS_H

#include <stdint.h>

struct progress {
	uint64_t total, done; /* in any unit */
	uint64_t next;        /* value of done at which the line changes */
	int shown;            /* a line is on the terminal */
};

void progress_start(struct progress *progress, uint64_t total);

/* Shows "cufence: WHAT, 42 %". */
void progress_show(struct progress *progress, const char *what);

/* Erases the line. */
void progress_end(struct progress *progress);

#endif
