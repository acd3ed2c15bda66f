/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "access_internal.h"

enum { MANY = 2000, SHOWN = 3 };

static struct memory_access list[MANY];
static struct accesses accesses;

static void add(int64_t allocation, int64_t low, int64_t high, const char *words)
{
	struct memory_access *access = &list[accesses.count++];

	*access = (struct memory_access){ .allocation = allocation,
		.low = low,
		.high = high,
		.start = low,
		.run = high - low,
		.direction = strstr(words, "write") ? ACCESS_WRITE : ACCESS_READ,
		.evidence = EVIDENCE_EXACT,
		.sure = 1,
		.exact = strstr(words, "known") != NULL,
		.maybe = strstr(words, "maybe") != NULL,
		.early = strstr(words, "early") != NULL,
		.node = (uint32_t)accesses.count };
	if (!strstr(words, "rows"))
		return;
	access->run = 8;
	access->stride_count = 1;
	access->stride[0] = (struct access_stride){ 80, 10 };
}

static void take(char *line, FILE *out)
{
	char low[32], high[32];
	int allocation, from, count;

	if (sscanf(line, "many %d %d %d", &allocation, &from, &count) == 3) {
		for (int i = 0; i < count; i++)
			add(allocation, from + 16 * i, from + 16 * i + 8, line);
		return;
	}
	assert_int_equal(sscanf(line, "%d %31s %31[0-9+*]", &allocation, low, high), 3);
	add(allocation, (int64_t)program_time(low, low + strlen(low)),
		(int64_t)program_time(high, high + strlen(high)), line);
}

static void say(FILE *out, const struct memory_access *access)
{
	assert_int_equal(access->start, access->low);
	assert_int_equal(access->sure, 1);
	fprintf(out, "%s%s%lld..%lld %u", ftell(out) ? ", " : "", access->exact ? "" : "~",
		(long long)access->low, (long long)access->high, (unsigned)access->node);
	if (access->stride_count)
		fprintf(out, " %lldx%lld of %lld", (long long)access->stride[0].count,
			(long long)access->stride[0].bytes, (long long)access->run);
	else
		assert_int_equal(access->run, access->high - access->low);
	fprintf(out, "%s%s%s", access->direction == ACCESS_WRITE ? " write" : "",
		access->maybe ? " maybe" : "", access->early ? " early" : "");
}

ANSWER(found)
{
	static char found[256];
	FILE *out = fmemopen(found, sizeof(found), "w");

	accesses = (struct accesses){ .access = list };
	cases_each(take);
	access_shorten(&accesses);
	for (size_t i = 0; i < accesses.count && i < SHOWN; i++)
		say(out, &list[i]);
	if (accesses.count > SHOWN)
		fprintf(out, ", %zu in all", accesses.count);
	fclose(out);
	return found;
}
