/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "command.h"

int main(int argc, char **argv)
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
