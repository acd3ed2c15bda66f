/* SPDX-License-Identifier: Apache-2.0 */
/* Undump of hostile text; what it accepts must read as a trace. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fuzz.h"
#include "reader.h"
#include "text.h"

static void read_back(const char *name)
{
	const struct record *record;
	struct trace_reader reader;

	if (!trace_open(&reader, name))
		while (trace_next(&reader, &record) > 0)
			;
	trace_close(&reader);
}

/* Large chunks are no other code, only slower: writing them fails. */
static void set_up(char name[32])
{
	const struct rlimit limit = { 1 << 20, 1 << 20 };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	fuzz_memory_file(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[32];
	FILE *in;

	if (!size)
		return 0;
	if (!name[0])
		set_up(name);
	in = fmemopen((void *)data, size, "r");
	if (!in)
		return 0;
	if (!text_undump(in, "fuzz", name))
		read_back(name);
	fclose(in);
	return 0;
}

int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed)
{
	if (n >= count)
		return 0;
	return fuzz_read(path[n], seed) ? -1 : 1;
}
