/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence completion: what bash, zsh and fish complete, written from the table of commands, so that
 * a new option needs no second list.
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

/* The words that complete a command's first operand. */
static void put_operands(const struct command *command, FILE *out)
{
	if (!strcmp(command->name, "help")) {
		for (const struct command *c = commands; c->name; c++)
			print(out, "%s ", c->name);
		fputs("rules ", out);
		for (int i = 0; i < RULE_COUNT; i++)
			print(out, "%s ", rules[i].id);
	} else if (!strcmp(command->name, "query")) {
		for (const struct query *query = queries; query->name; query++)
			print(out, "%s ", query->name);
	} else if (!strcmp(command->name, "completion")) {
		fputs("bash zsh fish", out);
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
		if (option_needs_argument(o) && !is_choice(o->argument)) {
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
		for (const struct command_option *o = c->option; o->name; o++)
			print(out, "%s ", o->name);
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

/* In single quotes, where fish takes a backslash before a quote or another backslash. */
static void put_quoted(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++)
		print(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
	fputc('\'', out);
}

/* "-o" is short for fish, "--top" long. */
static void put_fish_option(const char *command, const struct command_option *option, FILE *out)
{
	int is_long = option->name[1] == '-';

	print(out, "complete -c cufence -n '__fish_seen_subcommand_from %s' -%c %s", command,
		is_long ? 'l' : 's', option->name + 1 + is_long);
	if (is_choice(option->argument)) {
		fputs(" -x -a '", out);
		put_choices(option->argument, out);
		fputc('\'', out);
	} else if (option->argument) {
		fputs(" -r", out);
	}
	fputs(" -d ", out);
	put_quoted(option->summary, out);
	fputc('\n', out);
}

/* Files are completed unless a line says otherwise; behind "run --", the program's command line. */
static void write_fish(FILE *out)
{
	for (const struct command *c = commands; c->name; c++) {
		print(out, "complete -c cufence -n __fish_use_subcommand -f -a %s -d ", c->name);
		put_quoted(c->summary, out);
		fputc('\n', out);
		for (const struct command_option *o = c->option; o->name; o++)
			put_fish_option(c->name, o, out);
		print(out, "complete -c cufence -n '__fish_seen_subcommand_from %s' -a '", c->name);
		put_operands(c, out);
		fputs("'\n", out);
	}
	fputs("complete -c cufence -l version -d 'Print the version'\n"
	      "complete -c cufence -l help -d 'Print how it is used'\n"
	      "complete -c cufence -n 'contains -- -- (commandline -opc)' -x"
	      " -a '(set -l words (commandline -opc); complete -C (string join \" \" --"
	      " (string escape -- $words[(math (contains -i -- -- $words) + 1)..-1])"
	      " (commandline -ct)))'\n",
		out);
}

/* The same script serves as a file of zsh's fpath: on the first Tab it is run as the completion. */
static void write_zsh(FILE *out)
{
	fputs("#compdef cufence\nautoload -U +X bashcompinit && bashcompinit\n", out);
	write_script(out);
	fputs("[ \"$funcstack[1]\" != _cufence ] || _bash_complete -o filenames -F _cufence\n",
		out);
}

int cmd_completion(const struct arguments *arguments)
{
	static const struct {
		const char *shell;
		void (*write)(FILE *);
	} shells[] = { { "bash", write_script }, { "zsh", write_zsh }, { "fish", write_fish } };

	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
		if (!strcmp(arguments->operand[0], shells[i].shell)) {
			shells[i].write(stdout);
			return 0;
		}
	print(stderr,
		"cufence completion: bash, zsh or fish, not '%s': put \"source <(cufence "
		"completion bash)\" into ~/.bashrc\n",
		arguments->operand[0]);
	return EXIT_TROUBLE;
}
