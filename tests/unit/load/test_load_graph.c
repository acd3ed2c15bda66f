/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "access.h"

ANSWER(access)
{
	static char text[1024];
	struct access_reader *reader = access_open(&p->m.db);
	const struct accesses *found = NULL;
	FILE *out = fmemopen(text, sizeof(text), "w");

	for (int64_t call = 1; call <= mini_int(&p->m, "SELECT max(id) FROM call"); call++)
		assert_non_null(found = access_read(reader, call));
	assert_non_null(found);
	for (size_t i = 0; i < found->count; i++) {
		const struct memory_access *access = &found->access[i];

		fprintf(out, "%s%c%llx+%lld", access->exact && access->sure ? "" : "~",
			access->loose ? 'R' : "rwa?"[access->direction], (long long)access -> low,
			(long long)(access->high - access->low));
		if (access->stride_count)
			fprintf(out, "/%lld", (long long)access->run);
		for (int s = 0; s < access->stride_count; s++)
			fprintf(out, "*%lld@%lld", (long long)access->stride[s].count,
				(long long)access->stride[s].bytes);
		fputc(' ', out);
	}
	fputs(found->complete ? "complete" : found->named ? "named" : "unknown", out);
	fclose(out);
	access_close(reader);
	return text;
}
