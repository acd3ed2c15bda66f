/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_usual.h"

#include "constants.h"

#include <stdlib.h>

#include "array.h"

/* The first durations of a kind of call, from which its median is taken. */
#define SAMPLE_LIMIT 65536

int sample_add(struct sample *sample, int64_t value)
{
	int64_t *more;

	if (sample->count >= SAMPLE_LIMIT)
		return 0;
	more = array_room(sample->value, sample->count, sizeof(*more));
	if (!more)
		return -1;
	sample->value = more;
	sample->value[sample->count++] = value;
	sample->sorted = 0;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t sample_quantile(struct sample *sample, double share)
{
	if (!sample->sorted)
		qsort(sample->value, sample->count, sizeof(*sample->value), by_value);
	sample->sorted = 1;
	return sample->value[(size_t)(share * (double)(sample->count - 1))];
}

void sample_release(struct sample *sample)
{
	free(sample->value);
	*sample = (struct sample){ 0 };
}

static void free_sample(void *sample)
{
	sample_release(sample);
	free(sample);
}

static enum memory_kind host_memory(const struct walk_call *call)
{
	return call->direction == COPY_H2D ? call->src : call->dst;
}

/* Sizes within a factor of two are in one class. */
static int64_t size_class(int64_t bytes)
{
	int64_t class = 0;

	for (; bytes > 4096; bytes >>= 1)
		class ++;
	return class;
}

int64_t usual_key(const struct walk_call *call)
{
	int64_t key = call->type;

	if (!call_is_copy(call->kind))
		return key << 16;
	return key << 16 | size_class(call->bytes) << 8 | (int64_t)call->direction << 4 |
		(int64_t)host_memory(call);
}

int usual_add(struct usual *usual, int64_t key, int64_t duration)
{
	struct sample *sample = idmap_need(&usual->classes, key, sizeof(*sample));

	return sample ? sample_add(sample, duration) : -1;
}

int64_t usual_duration(struct usual *usual, int64_t key, int64_t expected)
{
	struct sample *sample = idmap_get(&usual->classes, key);

	return sample && sample->count >= USUAL_MIN_EXAMPLES ? sample_quantile(sample, 0.5)
							     : expected;
}

int64_t usual_expected(const struct walk_call *call)
{
	static const struct {
		int kind, direction, memory;
		int64_t ns, ns_per_mib;
	} rows[] = {
#define ANY (-1)
#define USUAL(kind, direction, memory, ns, ns_per_mib) { kind, direction, memory, ns, ns_per_mib },
#include "waits.def"
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].kind == (int)call->kind &&
			(rows[i].direction == ANY || rows[i].direction == (int)call->direction) &&
			(rows[i].memory == ANY || rows[i].memory == (int)host_memory(call)))
			return rows[i].ns + (call->bytes >> 10) * rows[i].ns_per_mib / 1024;
	}
	return 0;
}

void usual_release(struct usual *usual)
{
	idmap_release(&usual->classes, free_sample);
}
