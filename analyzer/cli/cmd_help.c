/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "command.h"
#include "help_rule.h"
#include "nearest.h"
#include "print.h"
#include "rules.h"

static void say_unknown(const char *name)
{
	struct nearest nearest = { .word = name };

	for (const struct command *command = commands; command->name; command++)
		nearest_offer(&nearest, command->name);
	rule_offer_all(&nearest);
	print(stderr,
		"cufence: no command or rule '%s'" NEAREST_FORMAT
		" (see \"cufence help\" and \"cufence help rules\")\n",
		name, NEAREST_PARTS(nearest));
}

static int help_of(const char *name)
{
	const struct command *command = command_find(name);
	const struct rule_info *rule = rule_find(name);

	if (command)
		command_help(command, stdout);
	else if (rule)
		help_rule(rule, stdout);
	else if (!strcmp(name, "rules"))
		help_rules(stdout);
	else
		say_unknown(name);
	return command || rule || !strcmp(name, "rules") ? 0 : EXIT_TROUBLE;
}

int cmd_help(const struct arguments *arguments)
{
	if (arguments->count)
		return help_of(arguments->operand[0]);
	puts("cufence finds unintended and missing synchronization in CUDA programs: where it\n"
	     "is and what it costs.\n\nusage: cufence COMMAND ...\n");
	for (const struct command *command = commands; command->name; command++)
		print(stdout, "    %-10s %-18s %s\n", command->name, command->operands,
			command->summary);
	puts("\n\"cufence help COMMAND\" has its options, \"cufence help rules\" the rules, and "
	     "\"cufence\nhelp blocking-free\" explains that one.");
	return 0;
}
