/* SPDX-License-Identifier: Apache-2.0 */
/* The options of filters after the run, which "stats" (cmd_stats.c) and "report" share. */
#ifndef CUFENCE_FILTER_OPTIONS_H
#define CUFENCE_FILTER_OPTIONS_H

#include "command.h"
#include "filter.h"

/* Rows of a command's options. */
#define FILTER_OPTIONS \
	{ "--stream", "NUMBER|NAME|KIND", "only of this stream, or of streams of a kind" }, \
		{ "--kernel", "NAME", \
			"only of kernels whose name contains it, or matches the pattern" }, \
		{ "--time", "FROM:UNTIL", "only submitted in these seconds of the run" }, \
		{ "--range", "NAME", "only within NVTX ranges of that name, or pattern" }, \
		{ "--process", "PID", "only of this process" }, \
	{ \
		"--thread", "TID|NAME", "only of this thread" \
	}

/* Reads them; of a command without, all are NULL.  0, or -1 after a message. */
int filter_options_read(const struct arguments *arguments, struct filter *filter);

#endif
