/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that "watch" shows: as they are, and as they were when last analyzed. */
#ifndef CUFENCE_WATCHED_H
#define CUFENCE_WATCHED_H

#include <stdio.h>

#include "status.h"
#include "traced.h"

struct watched {
	struct traced_list list;
	struct status *status; /* of each of them; recorded 0: not analyzed */
	int64_t analyzed;      /* when that began, CLOCK_REALTIME ns; 0: not yet */
	int64_t took;          /* ns */
};

/* The choice and the marks of the screen. */
struct screen {
	size_t chosen;       /* of the processes */
	unsigned columns;    /* of the terminal, 0: text without limits */
	unsigned rows;       /* 0: without limits */
	const char *message; /* the last line; NULL: none */
};

/* Writes it as lines of text. */
void watched_print(const struct watched *watched, const struct screen *screen, FILE *out);

/*
 * Writes it as metrics in Prometheus' text format 0.0.4, through a file next to it: 0, or -1 after
 * a message.  For node_exporter's textfile collector.
 */
int watched_write_metrics(const struct watched *watched, const char *path);

#endif
