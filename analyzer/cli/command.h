/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the cufence program.  commands[] drives dispatch, "cufence help", option
 * parsing and the test that the manual page names them all; a command is one row there and one
 * cmd_*.c.  Results go to stdout, everything else to stderr.
 */
#ifndef CUFENCE_COMMAND_H
#define CUFENCE_COMMAND_H

#include <stdio.h>

#define COMMAND_MAX_OPTIONS 32

struct command_option {
	const char *name;     /* "-o" or "--top" */
	const char *argument; /* its argument's name, NULL: it takes none; "[=NAME]": it may */
	const char *summary;
};

/* A parsed command line. */
struct arguments {
	const struct command *command;
	const char *value[COMMAND_MAX_OPTIONS]; /* beside command->option; NULL: not given */
	int count;                              /* operands */
	int separator;                          /* operands before "--"; -1: it was not given */
	char **operand;                         /* ends with NULL */
};

struct command {
	const char *name;
	const char *operands; /* as shown by help */
	const char *summary;
	const struct command_option *option;           /* ends with name NULL */
	int (*run)(const struct arguments *arguments); /* the exit status */
	int failure;                                   /* exit status of a usage error */
	int min_operands, max_operands;                /* max -1: any number */
	int stops; /* the first operand ends the options: the rest is a command */
};

/* Ends with name NULL. */
extern const struct command commands[];

const struct command *command_find(const char *name);

/* Runs argv[0] as a command: its exit status. */
int command_run(int argc, char **argv);

/* The option's argument, "" for one without, NULL if it was not given; it must be declared. */
const char *option(const struct arguments *arguments, const char *name);

/* The same for an option that the command may not have: then NULL. */
const char *option_if_any(const struct arguments *arguments, const char *name);

/* Whether the next word is its argument, if none is joined to it by "=". */
static inline int option_needs_argument(const struct command_option *option)
{
	return option->argument && *option->argument != '[';
}

void command_help(const struct command *command, FILE *out);

int cmd_run(const struct arguments *arguments);
int cmd_load(const struct arguments *arguments);
int cmd_analyze(const struct arguments *arguments);
int cmd_report(const struct arguments *arguments);
int cmd_confirm(const struct arguments *arguments);
int cmd_try(const struct arguments *arguments);
int cmd_fix(const struct arguments *arguments);
int cmd_shake(const struct arguments *arguments);
int cmd_why(const struct arguments *arguments);
int cmd_stats(const struct arguments *arguments);
int cmd_query(const struct arguments *arguments);
int cmd_dump(const struct arguments *arguments);
int cmd_undump(const struct arguments *arguments);
int cmd_merge(const struct arguments *arguments);
int cmd_export(const struct arguments *arguments);
int cmd_diff(const struct arguments *arguments);
int cmd_check(const struct arguments *arguments);
int cmd_probe(const struct arguments *arguments);
int cmd_completion(const struct arguments *arguments);
int cmd_help(const struct arguments *arguments);
int cmd_ps(const struct arguments *arguments);
int cmd_start(const struct arguments *arguments);
int cmd_stop(const struct arguments *arguments);
int cmd_flush(const struct arguments *arguments);
int cmd_snapshot(const struct arguments *arguments);
int cmd_why_stuck(const struct arguments *arguments);
int cmd_watch(const struct arguments *arguments);
int cmd_collect(const struct arguments *arguments);

/*
 * Makes the database from shaken runs of the command, as many as --shake says.  0, or -1 after a
 * message.
 */
int shake_for_check(const struct arguments *arguments, const char *database, char **command);

/* Exit status of a failure, in commands that use 0 and 1 for results. */
#define EXIT_TROUBLE 2

/* "cufence.db" unless an operand names another one. */
const char *database_operand(const struct arguments *arguments);

/* Reads the file of --annotations; NULL without the option.  0, or -1 after a message. */
struct annotations;
int read_annotations(const struct arguments *arguments, struct annotations **annotations);

/* Whether two paths lead to one existing file: an output must not overwrite an input. */
int is_same_file(const char *one, const char *other);

#endif
