/* SPDX-License-Identifier: Apache-2.0 */
#include "why_memory.h"

#include <stdio.h>

#include "conflict.h"
#include "print.h"

/* The most conflicts that are printed; findings do not depend on it. */
#define LINE_LIMIT 4

struct memory {
	struct access_reader *reader;
	sqlite3_stmt *allocation;
	const struct accesses *earlier, *later;
};

static const char allocation_sql[] =
	"SELECT a.memory, a.bytes, a.address, s.text FROM allocation a "
	"LEFT JOIN call c ON c.id = a.created LEFT JOIN site s ON s.id = c.site WHERE a.id = ?";

/* "writes bytes 0 to 64, 4 pieces of 8 bytes"; start: of the allocation. */
static void say_access(const struct memory_access *access, int64_t start)
{
	static const char *const verbs[] = {
		[ACCESS_READ] = "read",
		[ACCESS_WRITE] = "write",
		[ACCESS_ATOMIC] = "update",
	};
	int64_t pieces = 1;

	if (access->direction == ACCESS_UNKNOWN) {
		fputs("was given it", stdout);
		return;
	}
	if (access->exact && access->sure)
		print(stdout, "%ss", verbs[access->direction]);
	else
		print(stdout, "may %s", verbs[access->direction]);
	print(stdout, " bytes %lld to %lld", (long long)(access->low - start),
		(long long)(access->high - start));
	for (int i = 0; i < access->stride_count; i++)
		pieces *= access->stride[i].count;
	if (pieces > 1)
		print(stdout, ", %lld pieces of %lld", (long long)pieces, (long long)access->run);
	if (access->direction == ACCESS_ATOMIC)
		fputs(" atomically", stdout);
}

static int say_pair(struct memory *memory, const struct memory_access *earlier,
	const struct memory_access *later)
{
	sqlite3_stmt *q = memory->allocation;
	int rc = db_bind(q, "i", earlier->allocation) ? -1 : db_step(q);
	int64_t start = rc > 0 ? sqlite3_column_int64(q, 2) : 0;

	if (rc > 0) {
		print(stdout, "    both use %s memory of %lld bytes", sqlite3_column_text(q, 0),
			(long long)sqlite3_column_int64(q, 1));
		if (sqlite3_column_type(q, 3) != SQLITE_NULL)
			print(stdout, ", %s", sqlite3_column_text(q, 3));
		fputs(": the first ", stdout);
		say_access(earlier, start);
		fputs("; the second ", stdout);
		say_access(later, start);
		putchar('\n');
	}
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

static int say(struct memory *memory)
{
	int lines = 0;

	for (size_t i = 0; i < memory->earlier->count; i++)
		for (size_t k = 0; k < memory->later->count && lines < LINE_LIMIT; k++) {
			const struct memory_access *earlier = &memory->earlier->access[i];
			const struct memory_access *later = &memory->later->access[k];

			if (access_conflict(earlier, later).overlap == OVERLAP_NONE)
				continue;
			++lines;
			if (say_pair(memory, earlier, later))
				return -1;
		}
	if (lines)
		return 0;
	puts(memory->earlier->complete && memory->later->complete
			? "    neither writes memory that the other one uses"
			: "    no memory is known that one of them writes and the other one uses");
	return 0;
}

int why_memory(struct db *db, int64_t earlier, int64_t later)
{
	struct memory memory = { .reader = access_open(db),
		.allocation = db_prepare(db, allocation_sql) };
	int rc = -1;

	if (memory.reader && memory.allocation) {
		memory.earlier = access_read(memory.reader, earlier);
		memory.later = memory.earlier ? access_read(memory.reader, later) : NULL;
	}
	if (memory.later)
		rc = say(&memory);
	sqlite3_finalize(memory.allocation);
	access_close(memory.reader);
	return rc;
}
