/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence completion: what bash and zsh complete, written from the table of commands, so that a new
 * option needs no second list.
 */
#include <string.h>

#include "command.h"
#include "print.h"
#include "queries.h"
#include "rules.h"

/* "certain|likely|possible" lists choices; "FILE" only describes the argument. */
static int is_choice(const char *argument)
{
	return argument && strchr(argument, '|') && argument[0] >= 'a' && argument[0] <= 'z';
}

static void put_choices(const char *argument, FILE *out)
{
	/* "high|medium|low|RULE,..." */
	for (; *argument && *argument != 'R' && *argument != ','; argument++)
		fputc(*argument == '|' ? ' ' : *argument, out);
}

static void put_options(const struct command *command, FILE *out)
{
	for (const struct command_option *o = command->option; o->name; o++)
		print(out, "%s ", o->name);
}

static void put_rules(FILE *out)
{
	for (int i = 0; i < RULE_COUNT; i++)
		print(out, "%s ", rules[i].id);
}

/* The words that complete a command's first operand. */
static void put_operands(const struct command *command, FILE *out)
{
	if (!strcmp(command->name, "help")) {
		for (const struct command *c = commands; c->name; c++)
			print(out, "%s ", c->name);
		fputs("rules ", out);
		put_rules(out);
	} else if (!strcmp(command->name, "query")) {
		for (const struct query *query = queries; query->name; query++)
			print(out, "%s ", query->name);
	} else if (!strcmp(command->name, "completion")) {
		fputs("bash zsh", out);
	}
}

/* A command's options with a list of choices, and a pattern of those with any argument. */
static void put_arguments(const struct command *command, FILE *out)
{
	const char *separator = "";

	for (const struct command_option *o = command->option; o->name; o++)
		if (is_choice(o->argument)) {
			print(out, "\t%s:%s) words='", command->name, o->name);
			put_choices(o->argument, out);
			fputs("' ;;\n", out);
		}
	for (const struct command_option *o = command->option; o->name; o++)
		if (o->argument && !is_choice(o->argument)) {
			fputs(*separator ? separator : "\t", out);
			print(out, "%s:%s", command->name, o->name);
			separator = " | ";
		}
	if (*separator)
		fputs(") words= ;;\n", out);
}

/*
 * One function serves both shells: zsh runs it through bashcompinit.  If no word fits, files are
 * completed; after "run --" the shell completes the program's own command line.
 */
static const char head[] =
	"_cufence()\n{\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command=${COMP_WORDS[1]} words=- i\n"
	"\tif [ \"$command\" = run ]; then\n"
	"\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\t\tif [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
	"\t\t\t\tCOMPREPLY=($(compgen -c -- \"$word\") $(compgen -f -- \"$word\"))\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\tdone\n"
	"\tfi\n"
	"\tcase $command:$before in\n";

static void write_script(FILE *out)
{
	fputs(head, out);
	for (const struct command *c = commands; c->name; c++)
		put_arguments(c, out);
	fputs("\tesac\n\tif [ \"$words\" = - ]; then\n"
	      "\t\tcase $COMP_CWORD:$command:$word in\n\t\t1:*) words='",
		out);
	for (const struct command *c = commands; c->name; c++)
		print(out, "%s ", c->name);
	fputs("--version --help' ;;\n", out);
	for (const struct command *c = commands; c->name; c++) {
		print(out, "\t\t*:%s:-*) words='", c->name);
		put_options(c, out);
		fputs("--help' ;;\n", out);
		print(out, "\t\t*:%s:*) words='", c->name);
		put_operands(c, out);
		fputs("' ;;\n", out);
	}
	fputs("\t\tesac\n\tfi\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	      "\t[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
	      "}\ncomplete -o filenames -F _cufence cufence\n",
		out);
}

int cmd_completion(const struct arguments *arguments)
{
	const char *shell = arguments->operand[0];

	if (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0) {
		print(stderr,
			"cufence completion: bash or zsh, not '%s': put \"source <(cufence "
			"completion bash)\" into ~/.bashrc\n",
			shell);
		return EXIT_TROUBLE;
	}
	if (!strcmp(shell, "zsh"))
		fputs("autoload -U +X bashcompinit && bashcompinit\n", stdout);
	write_script(stdout);
	return 0;
}
