/* SPDX-License-Identifier: Apache-2.0 */
#include "shell.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

static int is_plain(const char *name)
{
	return *name &&
		!name[strspn(name,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			"0123456789_./+:@%,=-")];
}

static int has_control(const char *name)
{
	for (; *name; name++)
		if (iscntrl((unsigned char)*name))
			return 1;
	return 0;
}

/* Between $' and ': backslashes mean something. */
static void write_escaped(const char *name, FILE *out)
{
	for (; *name; name++)
		if (iscntrl((unsigned char)*name)) {
			print(out, "\\x%02x", (unsigned)(unsigned char)*name);
		} else {
			if (*name == '\'' || *name == '\\')
				fputc('\\', out);
			fputc(*name, out);
		}
}

static void write_quoted(const char *name, FILE *out)
{
	for (; *name; name++)
		if (*name == '\'')
			fputs("'\\''", out);
		else
			fputc(*name, out);
}

char *shell_word(const char *name)
{
	int plain = is_plain(name), control = has_control(name);
	char *word = NULL;
	size_t length;
	FILE *out = open_memstream(&word, &length);

	if (out) {
		/* A leading dash would make it an option. */
		fputs(control ? "$'" : plain ? "" : "'", out);
		fputs(*name == '-' ? "./" : "", out);
		(control ? write_escaped : write_quoted)(name, out);
		fputs(plain ? "" : "'", out);
	}
	if (!out || fclose(out)) {
		fputs("cufence: out of memory\n", stderr);
		free(word);
		return NULL;
	}
	return word;
}
