/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "print.h"

int cmd_help(const struct arguments *arguments)
{
	const struct command *command;

	if (arguments->count) {
		command = command_find(arguments->operand[0]);
		if (!command) {
			print(stderr, "cufence: unknown command '%s'\n", arguments->operand[0]);
			return EXIT_TROUBLE;
		}
		command_help(command, stdout);
		return 0;
	}
	puts("cufence finds the synchronization a CUDA program did not mean to have, where it is\n"
	     "and what it costs.\n\nusage: cufence COMMAND ...\n");
	for (command = commands; command->name; command++)
		print(stdout, "    %-8s %-18s %s\n", command->name, command->operands,
			command->summary);
	puts("\n\"cufence help COMMAND\" tells more.");
	return 0;
}
