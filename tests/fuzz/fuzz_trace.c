/* SPDX-License-Identifier: Apache-2.0 */
/* The reader and the text form: every record of a hostile trace is visited and printed. */
#include <stdlib.h>

#include "fuzz.h"
#include "reader.h"
#include "text.h"
#include "trace_mutations.h"

const int fuzz_is_trace = 1;

static void use(struct trace_reader *reader, FILE *nowhere)
{
	const struct record *record;
	int whole = !text_dump(reader, nowhere);
	uint64_t damaged = reader->damaged;

	trace_rewind(reader);
	while (trace_next(reader, &record))
		;
	/* The second round must end as the first did. */
	if (whole != trace_is_whole(reader) || damaged != reader->damaged)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	struct trace_reader reader;

	if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
		exit(2);
	trace_is_damaged(data, &size);
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
