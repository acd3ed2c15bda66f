/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "annotations.h"
#include "nearest.h"
#include "print.h"

const struct command *command_find(const char *name)
{
	for (const struct command *command = commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

static int find_option(const struct arguments *arguments, const char *name)
{
	const struct command_option *options = arguments->command->option;

	for (int i = 0; options[i].name; i++)
		if (!strcmp(options[i].name, name))
			return i;
	return -1;
}

const char *option(const struct arguments *arguments, const char *name)
{
	int i = find_option(arguments, name);

	assert(i >= 0);
	return arguments->value[i];
}

const char *option_if_any(const struct arguments *arguments, const char *name)
{
	int i = find_option(arguments, name);

	return i < 0 ? NULL : arguments->value[i];
}

int read_annotations(const struct arguments *arguments, struct annotations **annotations)
{
	const char *path = option(arguments, "--annotations");

	*annotations = path ? annotations_read(path) : NULL;
	return path && !*annotations ? -1 : 0;
}

const char *database_operand(const struct arguments *arguments)
{
	return arguments->count ? arguments->operand[0] : "cufence.db";
}

int is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Prints "-o NAME.db" and returns how many columns that takes. */
static int print_option(const struct command_option *option, FILE *out)
{
	const char *argument = option->argument ? option->argument : "";
	const char *blank = *argument && *argument != '[' ? " " : "";

	if (out)
		print(out, "    %s%s%s", option->name, blank, argument);
	return (int)(strlen(option->name) + strlen(blank) + strlen(argument));
}

/* A longer option has its summary below it. */
#define MOST_WIDE 60
/* How commands are called whose operands have several forms. */
static const struct {
	const char *command, *lines;
} examples[] = {
	{ "why",
		"    cufence why run.db 1         the two operations of finding 1\n"
		"    cufence why run.db 112 118   two ids of table operation\n"
		"    cufence query run.db \"SELECT id, kind, start FROM operation\"\n" },
	{ "diff",
		"    cufence diff before.db after.db\n"
		"    cufence diff old1.db old2.db old3.db -- new1.db new2.db new3.db\n" },
	{ "confirm",
		"    cufence run -o run.db -- ./app\n"
		"    cufence confirm run.db 1 -- ./app              finding 1, on the GPU\n"
		"    cufence confirm --sim run.db 1 -- ./app        on the simulated device\n"
		"    cufence confirm --pair run.db 12 18 -- ./app   two ids of table operation\n" },
	{ "try",
		"    cufence run -o run.db -- ./app\n"
		"    cufence try run.db 1 -- ./app           finding 1\n"
		"    cufence try run.db 1,3 -- ./app         findings 1 and 3, each by itself and "
		"together\n"
		"    cufence try --all run.db -- ./app       all that can be treated\n"
		"    cufence try --keep fixes.txt run.db 1 -- ./app\n"
		"    cufence fix fixes.txt -- ./app          with what was kept\n" },
};

void command_help(const struct command *command, FILE *out)
{
	int widest = 0;

	for (const struct command_option *o = command->option; o->name; o++)
		if (print_option(o, NULL) > widest && print_option(o, NULL) <= MOST_WIDE)
			widest = print_option(o, NULL);
	print(out, "usage: cufence %s%s %s\n\n    %s\n", command->name,
		command->option->name ? " [OPTION...]" : "", command->operands, command->summary);
	if (command->option->name)
		fputc('\n', out);
	for (const struct command_option *o = command->option; o->name; o++) {
		int width = print_option(o, out);

		if (width > widest)
			print(out, "\n%*s%s\n", widest + 6, "", o->summary);
		else
			print(out, "%*s%s\n", widest - width + 2, "", o->summary);
	}
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		if (!strcmp(examples[i].command, command->name)) {
			fputc('\n', out);
			fputs(examples[i].lines, out);
		}
}

static int usage(const struct command *command, const char *what, const char *which)
{
	print(stderr, "cufence %s: %s%s%s%s (see \"cufence help %s\")\n", command->name, what,
		which ? " '" : "", which ? which : "", which ? "'" : "", command->name);
	return -1;
}

static int unknown_option(const struct command *command, const char *word, size_t length)
{
	char name[64];
	struct nearest nearest = { .word = name };

	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	for (const struct command_option *o = command->option; o->name; o++)
		if (length > 2)
			nearest_offer(&nearest, o->name);
	print(stderr,
		"cufence %s: unknown option '%s'" NEAREST_FORMAT " (see \"cufence help %s\")\n",
		command->name, word, NEAREST_PARTS(nearest), command->name);
	return -1;
}

/* Reads "--name value", "--name=value" or "--name"; returns the number of words, or -1. */
static int take_option(struct arguments *arguments, char **argv)
{
	const struct command_option *options = arguments->command->option;
	size_t length = strcspn(argv[0], "=");
	const char *joined = argv[0][length] ? argv[0] + length + 1 : NULL;

	for (int i = 0; options[i].name; i++) {
		int needs = option_needs_argument(&options[i]);

		if (strlen(options[i].name) != length || strncmp(options[i].name, argv[0], length))
			continue;
		if (!options[i].argument && joined)
			return usage(arguments->command, "no argument is allowed for",
				options[i].name);
		arguments->value[i] = joined ? joined : needs ? argv[1] : "";
		if (!arguments->value[i])
			return usage(arguments->command, "an argument is missing for", argv[0]);
		return needs && !joined ? 2 : 1;
	}
	return unknown_option(arguments->command, argv[0], length);
}

/* Moves operands to the front of argv. */
static int parse(struct arguments *arguments, char **argv)
{
	const struct command *command = arguments->command;
	int literal = 0;

	arguments->operand = argv;
	while (*argv) {
		int words = 1;
		if (!literal && !strcmp(*argv, "--"))
			literal = 1, arguments->separator = arguments->count;
		else if (!literal && argv[0][0] == '-' && argv[0][1])
			words = take_option(arguments, argv);
		else
			arguments->operand[arguments->count++] = *argv;
		if (words < 0)
			return -1;
		argv += words;
		if (command->stops && (literal || arguments->count))
			literal = 1;
	}
	arguments->operand[arguments->count] = NULL;
	if (arguments->count < command->min_operands)
		return usage(command, "operand missing:", command->operands);
	if (command->max_operands >= 0 && arguments->count > command->max_operands)
		return usage(command, "unexpected operand",
			arguments->operand[command->max_operands]);
	return 0;
}

int command_run(int argc, char **argv)
{
	struct arguments arguments = { .command = command_find(argv[0]), .separator = -1 };

	if (!arguments.command) {
		struct nearest nearest = { .word = argv[0] };

		for (const struct command *command = commands; command->name; command++)
			nearest_offer(&nearest, command->name);
		print(stderr,
			"cufence: unknown command '%s'" NEAREST_FORMAT " (see \"cufence help\")\n",
			argv[0], NEAREST_PARTS(nearest));
		return EXIT_TROUBLE;
	}
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		command_help(arguments.command, stdout);
		return 0;
	}
	if (parse(&arguments, argv + 1))
		return arguments.command->failure;
	return arguments.command->run(&arguments);
}
