/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"
#include "print.h"
#include "text.h"

int cmd_undump(const struct arguments *arguments)
{
	const char *name = arguments->operand[0], *path = option(arguments, "-o");
	int is_stdin = !strcmp(name, "-");
	char *target = NULL;
	FILE *in;
	int rc = -1;

	if (!path) {
		fputs("cufence undump: name the trace to write: -o TRACE\n", stderr);
		return EXIT_TROUBLE;
	}
	in = is_stdin ? stdin : fopen(name, "r");
	if (!in) {
		print(stderr, "cufence: cannot open '%s': %s\n", name, strerror(errno));
		return EXIT_TROUBLE;
	}
	if (is_same_file(name, path))
		print(stderr, "cufence undump: '%s' is the input: name another file with -o\n",
			path);
	else if ((target = output_target(path)))
		rc = text_undump(in, is_stdin ? "stdin" : name, path);
	free(target);
	if (!is_stdin)
		fclose(in);
	return rc ? EXIT_TROUBLE : 0;
}
