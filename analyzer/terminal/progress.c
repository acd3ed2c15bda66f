/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"

void progress_start(struct progress *progress, uint64_t total)
{
	*progress = (struct progress){ .total = total ? total : 1 };
}

void progress_show(struct progress *progress, const char *what)
{
	uint64_t percent = progress->done * 100 / progress->total;
	const char *terminal = getenv("TERM");

	if (!isatty(STDERR_FILENO) || (terminal && !strcmp(terminal, "dumb")))
		return;
	print(stderr, "\r\033[Kcufence: %s, %llu %%", what,
		(unsigned long long)(percent < 100 ? percent : 100));
	fflush(stderr);
	progress->shown = 1;
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = 0;
}
