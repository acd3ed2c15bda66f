/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "print.h"

/*
 * Fills closed standard streams, so that no database gets their number and messages in it.  They
 * are opened for the opposite access, so that using them still fails, and close on exec, so that a
 * traced program finds them closed.
 */
static void occupy_closed_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

static int dispatch(int argc, char **argv)
{
	static char *help[] = { "help", NULL };

	if (argc < 2) {
		cmd_help(&(struct arguments){ .command = command_find("help") });
		return EXIT_TROUBLE;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("cufence " CUFENCE_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return command_run(1, help);
	return command_run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int status;

	occupy_closed_streams();
	/* Unused statistics, for which each of its allocations takes a lock. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	status = dispatch(argc, argv);
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	print(stderr, "cufence: cannot write to standard output: %s\n", strerror(errno));
	return status > EXIT_TROUBLE ? status : EXIT_TROUBLE;
}
