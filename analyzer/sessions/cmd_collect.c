/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and rings of programs that "cufence run" did not start. */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "analyze_head.h"
#include "command.h"
#include "print.h"
#include "ring.h"
#include "sampler.h"

static volatile sig_atomic_t ended;

static void note_end(int signal)
{
	(void)signal;
	ended = 1;
}

static int read_options(const struct arguments *arguments, struct sampler *sampler,
	struct ring *ring)
{
	const char *period = option(arguments, "--sample"), *part = option(arguments, "--ring");

	if (!sampler->folder || !period == !part) {
		fputs("cufence collect: needs --folder, and --sample or --ring\n", stderr);
		return -1;
	}
	if (period && !sampler_read_period(period, &sampler->period)) {
		print(stderr,
			"cufence collect: --sample is a number of seconds, 0.2 or more, not '%s'\n",
			period);
		return -1;
	}
	if (part && !ring_read_size(part, ring)) {
		print(stderr,
			"cufence collect: --ring is a time or a size, such as 30s or 64M, not "
			"'%s'\n",
			part);
		return -1;
	}
	return 0;
}

int cmd_collect(const struct arguments *arguments)
{
	const char *folder = option(arguments, "--folder");
	struct sampler sampler = { .folder = folder, .find_head = analyze_find_head };
	struct ring ring = { .folder = folder };
	struct sigaction action = { .sa_handler = note_end };
	struct timespec tenth = { 0, 100000000 };

	if (read_options(arguments, &sampler, &ring))
		return EXIT_TROUBLE;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	while (!ended) {
		sampler_look(&sampler);
		ring_look(&ring);
		nanosleep(&tenth, NULL);
	}
	sampler_release(&sampler);
	ring_release(&ring);
	return 0;
}
