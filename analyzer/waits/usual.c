/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "radix_sort.h"
#include "memory.h"
#include "wait.h"

/* The first durations of a kind of call, from which its median is taken. */
#define SAMPLE_LIMIT 65536

struct sample {
	int64_t *ns;
	size_t count;
	int64_t least;
	/* Once settled: the middle of the sorted values, and how far half of them are from it. */
	int settled;
	int64_t median, deviation;
};

void samples_add(struct samples *samples, int64_t key, int64_t ns)
{
	struct sample *sample = id_map_need(&samples->of, key, sizeof(*sample));

	if (!sample->count || ns < sample->least)
		sample->least = ns;
	if (sample->count >= SAMPLE_LIMIT)
		return;
	*array_push(sample->ns, sample->count) = ns;
	sample->settled = 0;
}

void samples_join(struct samples *samples, const struct samples *later)
{
	for (struct id_map_slot *at = NULL; (at = id_map_next(&later->of, at));) {
		const struct sample *from = at->object;

		for (size_t i = 0; i < from->count; i++)
			samples_add(samples, at->id, from->ns[i]);
		/* Also of those beyond the limit. */
		if (from->count) {
			struct sample *to = id_map_get(&samples->of, at->id);

			to->least = at_most(to->least, from->least);
		}
	}
}

struct usual usual_of(struct samples *samples, int64_t key, int64_t expected)
{
	struct sample *sample = id_map_get(&samples->of, key);

	if (!sample || sample->count < USUAL_MIN_EXAMPLES)
		return (struct usual){ expected, expected / USUAL_SPREAD_PART };
	if (!sample->settled) {
		size_t low = 0, high = sample->count - 1;

		sample->ns = radix_sort(sample->ns, sample->count, sizeof(*sample->ns));
		sample->median = sample->ns[high / 2];
		/*
		 * The values that are not farther from the median than some distance are a range of
		 * the sorted ones: the smallest range of half of them is what remains if the
		 * farthest ones are taken away.
		 */
		while (high - low > (sample->count - 1) / 2)
			if (sample->median - sample->ns[low] > sample->ns[high] - sample->median)
				low++;
			else
				high--;
		sample->deviation = at_least(sample->median - sample->ns[low],
			sample->ns[high] - sample->median);
		sample->settled = 1;
	}
	return (struct usual){ sample->median,
		sample->count < SPREAD_MIN_EXAMPLES ? sample->median / USUAL_SPREAD_PART
						    : sample->deviation * USUAL_SPREADS };
}

static void free_sample(void *object)
{
	free(((struct sample *)object)->ns);
	free(object);
}

void samples_release(struct samples *samples)
{
	id_map_release(&samples->of, free_sample);
}

static enum memory_kind host_memory(const struct walk_call *call)
{
	return call->direction == COPY_H2D ? call->src : call->dst;
}

int64_t usual_key(const struct walk_call *call)
{
	int64_t key = call->type << 16, size = 0;

	if (!call_is_copy(call->kind))
		return key;
	/* Sizes within a factor of two are comparable. */
	for (int64_t bytes = call->bytes; bytes > 4096; bytes >>= 1)
		size++;
	return key | size << 8 | (int64_t)call->direction << 4 | (int64_t)host_memory(call);
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

const struct wait_timing *wait_timing_settle(struct id_map *timings, struct samples *samples,
	int64_t process)
{
	struct wait_timing *timing = id_map_need(timings, process, sizeof(*timing));
	const struct sample *sample = id_map_get(&samples->of, USUAL_LATENCY | process);
	int64_t early, latency = LATENCY_DEFAULT_NS;
	struct usual usual;

	if (timing->error)
		return timing;
	usual = usual_of(samples, USUAL_LATENCY | process, latency);
	if (sample && sample->count >= SPREAD_MIN_EXAMPLES)
		latency = usual.ns + usual.spread;
	latency = at_most(at_least(latency, LATENCY_MIN_NS), LATENCY_MAX_NS);
	/* A wait that seems to return before its operation's end shows the clocks' difference. */
	early = sample ? -sample->least : 0;
	/* The wake-up of a sleeping thread cannot be distinguished from the call's later work. */
	timing->usually_late = timing->blocking ? LATENCY_DEFAULT_NS : latency;
	timing->wake_up = timing->blocking ? LATENCY_BLOCKING_NS : latency;
	early = at_least(at_least(early, timing->clock_error), CLOCK_ERROR_MIN_NS);
	timing->error = at_most(early, CLOCK_ERROR_MAX_NS);
	return timing;
}
