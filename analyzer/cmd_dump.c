/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "text.h"

int cmd_dump(const struct arguments *arguments)
{
	const char *path = arguments->operand[0];
	struct trace_reader reader;
	int rc = trace_open(&reader, path);

	if (!rc)
		rc = text_dump(&reader, stdout);
	if (rc)
		fprintf(stderr, "cufence: '%s': %s\n", path, reader.error);
	trace_close(&reader);
	return rc ? EXIT_TROUBLE : 0;
}
