/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "text.h"

int cmd_undump(const struct arguments *arguments)
{
	const char *name = arguments->operand[0], *path = option(arguments, "-o");
	int is_stdin = !strcmp(name, "-");
	FILE *in;
	int rc = -1;

	if (!path) {
		fputs("cufence undump: which file is to be written? (-o TRACE)\n", stderr);
		return EXIT_TROUBLE;
	}
	in = is_stdin ? stdin : fopen(name, "r");
	if (!in) {
		fprintf(stderr, "cufence: cannot open '%s': %s\n", name, strerror(errno));
		return EXIT_TROUBLE;
	}
	if (is_same_file(name, path))
		fprintf(stderr, "cufence undump: '%s' is what is to be read\n", path);
	else
		rc = text_undump(in, is_stdin ? "stdin" : name, path);
	if (!is_stdin)
		fclose(in);
	return rc ? EXIT_TROUBLE : 0;
}
