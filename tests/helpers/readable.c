/* SPDX-License-Identifier: Apache-2.0 */
/* Exits 0 if all given traces are undamaged: "cufence dump" without output. */
#include <stdio.h>

#include "reader.h"

int main(int argc, char **argv)
{
	const struct record *record;
	struct trace_reader reader;
	int rc = argc < 2;

	for (int i = 1; i < argc && !rc; i++) {
		rc = trace_open(&reader, argv[i]);
		while (!rc && trace_next(&reader, &record))
			;
		rc = rc || !trace_is_whole(&reader);
		if (rc)
			fprintf(stderr, "%s: %s\n", argv[i], reader.error);
		trace_close(&reader);
	}
	return rc ? 1 : 0;
}
