/* SPDX-License-Identifier: Apache-2.0 */
/* The reader and the text form: every record of a hostile trace is visited and printed. */
#include <stdlib.h>

#include "fuzz.h"
#include "reader.h"
#include "text.h"

static void use(struct trace_reader *reader, FILE *nowhere)
{
	const struct record *record;
	int rc, whole = !text_dump(reader, nowhere);

	trace_rewind(reader);
	while ((rc = trace_next(reader, &record)) > 0)
		;
	/* The second round must end as the first did. */
	if (whole != !rc)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	struct trace_reader reader;

	if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
		exit(2);
	if (!trace_open_memory(&reader, data, size))
		use(&reader, nowhere);
	trace_close(&reader);
	return 0;
}

int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed)
{
	if (n >= count)
		return 0;
	return fuzz_read_trace(path[n], seed) ? -1 : 1;
}
