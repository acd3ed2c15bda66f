/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plausibility of records: times are within CLOCK_MOST of the run's start, nothing ends before it
 * begins, all durations have a possible sum, and sizes are possible memory sizes.  Records that
 * violate this are damaged and left out here, so that later code cannot overflow.  Operations whose
 * times contradict those of others are kept, and corrected (below).
 */
#include "loader.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "large.h"
#include "radix_sort.h"
#include "load_accept.h"
#include "memory.h"
#include "run_columns.h"

/* Upper limit of polls within CLOCK_MOST; a record with more is counted as damaged. */
#define POLLS_MOST ((uint64_t)1 << 48)

static int refuse(struct loader *loader)
{
	loader->p.refused++;
	return 0;
}

/* Returns whether an interval is possible in addition to all previous ones. */
static int accept_interval(struct loader *loader, int64_t start, int64_t end)
{
	if (start == CLOCK_NONE || end == CLOCK_NONE || end < start ||
		end - start > CLOCK_MOST_SUM - loader->lasted)
		return 0;
	loader->lasted += end - start;
	return 1;
}

int load_is_size(unsigned kind)
{
	switch (kind) {
	case FIELD_bytes:
	case FIELD_width:
	case FIELD_height:
	case FIELD_depth:
	case FIELD_dst_pitch:
	case FIELD_src_pitch:
	case FIELD_dst_height:
	case FIELD_src_height:
	case FIELD_count:
	case FIELD_more:
		return 1;
	default:
		return 0;
	}
}

/* Addresses to which a size can be added without overflow. */
static int is_address(unsigned kind, uint64_t value)
{
	return (kind != FIELD_ptr && kind != FIELD_dst && kind != FIELD_src) ||
		value - ((uint64_t)INT64_MAX - SIZE_MOST) > SIZE_MOST;
}

/* Returns the larger of a call's fields of these two kinds. */
static uint64_t larger(const struct call_type_record *type, const struct call_record *call,
	unsigned first, unsigned second)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < type->field_count; i++)
		if (((uint8_t)type->data[i] == first || (uint8_t)type->data[i] == second) &&
			call->field[i] > most)
			most = call->field[i];
	return most;
}

/*
 * Checks the span of rows and slices, from first to last byte.  A pitch is checked only where it is
 * used.
 */
static int accept_extent(const struct call_type_record *type, const struct call_record *call)
{
	uint64_t height = larger(type, call, FIELD_height, FIELD_height);
	uint64_t depth = larger(type, call, FIELD_depth, FIELD_depth);
	unsigned __int128 row = larger(type, call, FIELD_width, FIELD_width);

	if (height > 1 || depth > 1)
		row |= larger(type, call, FIELD_dst_pitch, FIELD_src_pitch);
	if (depth > 1)
		height |= larger(type, call, FIELD_dst_height, FIELD_src_height);
	return row <= SIZE_MOST && height <= SIZE_MOST && depth <= SIZE_MOST &&
		row * (height + !height) <= SIZE_MOST &&
		row * (height + !height) * (depth + !depth) <= SIZE_MOST;
}

#define BIT(kind) (1ull << FIELD_##kind)
#define EXTENT_FIELDS (BIT(width) | BIT(height) | BIT(depth) | BIT(dst_pitch) | BIT(src_pitch))
#define SIZE_FIELDS (EXTENT_FIELDS | BIT(bytes) | BIT(ptr) | BIT(dst) | BIT(src))

/* Failed calls move and create nothing, so their sizes do not matter. */
static int accept_sizes(const struct loader *loader, const struct call_record *call)
{
	const struct call_type_record *type = loader->p.type[call->call].record;
	uint64_t fields = loader->p.type[call->call].fields;

	if (call->result || !(fields & SIZE_FIELDS))
		return 1;
	for (unsigned i = 0; i < type->field_count; i++)
		if (!is_address((uint8_t)type->data[i], call->field[i]))
			return 0;
	return larger(type, call, FIELD_bytes, FIELD_bytes) <= SIZE_MOST &&
		(!(fields & EXTENT_FIELDS) || accept_extent(type, call));
}

static int accept_polls(const struct clock *clock, const struct call_record *call)
{
	struct call_polls polls;

	if (!loader_polls(call, &polls))
		return 1;
	return polls.count && polls.count <= POLLS_MOST && polls.last >= call->enter &&
		clock_host_ns(clock, polls.last) != CLOCK_NONE;
}

int loader_accept_call(struct loader *loader, const struct record *record)
{
	const struct clock *clock = &loader->p.clock;
	const struct call_record *call = (const struct call_record *)record;
	uint64_t lasts;

	if (record->type == RECORD_ENTER)
		return clock_host_ns(clock, ((const struct enter_record *)record)->enter) !=
			CLOCK_NONE ||
			refuse(loader);
	lasts = call_duration(call);
	if (call->enter > UINT64_MAX - lasts || !accept_polls(clock, call) ||
		!accept_sizes(loader, call) ||
		!accept_interval(loader, clock_host_ns(clock, call->enter),
			clock_host_ns(clock, call->enter + lasts)))
		return refuse(loader);
	return 1;
}

int loader_accept_device(struct loader *loader, const struct device_record *device)
{
	const struct clock *clock = &loader->p.clock;
	int64_t start = clock_device_ns(clock, device->start);

	if (device->head.flags & DEVICE_INVALID)
		return 1;
	/* 0: unknown. */
	if (!device->start && !device->end)
		return 1;
	if (!device->start || !device->end)
		return clock_device_ns(clock, device->start | device->end) != CLOCK_NONE ||
			refuse(loader);
	return accept_interval(loader, start, clock_device_ns(clock, device->end)) ||
		refuse(loader);
}

int loader_accept_window(struct loader *loader, const struct window_record *window)
{
	return clock_host_ns(&loader->p.clock, window->ticks) != CLOCK_NONE || refuse(loader);
}

int loader_accept_host_run(struct loader *loader, const struct host_run_record *run)
{
	const struct clock *clock = &loader->p.clock;
	int64_t enter = clock_host_ns(clock, run->enter);

	if (run->exit)
		return accept_interval(loader, enter, clock_host_ns(clock, run->exit)) ||
			refuse(loader);
	return enter != CLOCK_NONE || refuse(loader);
}

int loader_accept_usage(struct loader *loader, const struct usage_record *usage)
{
	return clock_host_ns(&loader->p.clock, usage->ticks) != CLOCK_NONE || refuse(loader);
}

int loader_polls(const struct call_record *call, struct call_polls *polls)
{
	size_t bytes = record_bytes(&call->head);

	if (!(call->head.flags & CALL_POLLS) || bytes < sizeof(*call) + sizeof(*polls))
		return 0;
	memcpy(polls, (const char *)call + bytes - sizeof(*polls), sizeof(*polls));
	return 1;
}

/* --- operations of a stream against each other --- */

/*
 * Device times that cannot be.  Operations of a stream run one after the other (CUDA), but CUPTI
 * 13.0 gave a copy an end that was 2.5 s late, after 1430 operations of its stream had begun
 * (H200).  Two operations of a stream contradict each other if the one that started first ends
 * after the other one has started.
 *
 * Both times are the device's, so the offset between its clock and the host's, which causality
 * bounds, plays no part; less than the clocks' remaining error is no contradiction.
 *
 * Of contradicting operations the fewest are blamed: the others are the longest list that is
 * consistent.  Intervals are scheduled for that, from the last start to the first, and so whoever
 * is blamed ended after the next of the others had started.  Its end is wrong: it ended when the
 * next operation of its stream started, at the latest.  If it was also submitted after that one,
 * its start is wrong as well, and nothing is known of when it ran.
 *
 * Copies from host to host are the driver's, and CUPTI's record of one begins with its wait for the
 * stream (H200: up to 55 us before the preceding operation ends).  Here such a copy starts at that
 * end.
 *
 * Left out is what may overlap in a stream: the kernel before a programmatic launch, the copies of
 * a batch, and the nodes of a graph, which run in streams of their own.
 */

/* How an operation may overlap with others of its stream: struct loaded_process.overlaps. */
enum {
	OVERLAPS_ITSELF = 1 << 0, /* a graph launch: its nodes */
	OVERLAPS_KERNEL = 1 << 1, /* a programmatic launch: the kernel before it */
};

struct timed_operation {
	int64_t start, end;
	uint32_t correlation, place;
	uint64_t kind; /* enum device_kind */
};

/* The operations of a CUPTI stream. */
struct timed_stream {
	uint64_t end; /* the latest end so far */
	int contradicts;
	struct timed_operation *operation; /* if it does, in order of submission, then of start */
	size_t count;
};

struct times {
	struct loaded_process *p;
	struct map number; /* CUPTI context and stream -> index + 1 */
	struct timed_stream *stream;
	size_t count;
	int64_t error; /* ns */
	int contradict;
};

int loader_note_overlap(struct loaded_process *p, const struct call_record *call)
{
	const struct call_type_record *type = p->type[call->call].record;
	struct call_attributes attributes;
	uint32_t *slot, how = 0;

	if (!call->correlation || !type)
		return 0;
	if (type->kind == KIND_GRAPH_LAUNCH)
		how |= OVERLAPS_ITSELF;
	if (loader_attributes(call, &attributes) && attributes.flags & LAUNCH_PROGRAMMATIC)
		how |= OVERLAPS_KERNEL;
	slot = how ? sparse_words_at(&p->overlaps, call->correlation) : NULL;
	if (slot)
		*slot |= how;
	return how && !slot ? -1 : 0;
}

static struct timed_stream *stream_of(struct times *times, const struct device_record *device)
{
	uint64_t key = (uint64_t)device->context << 32 | device->stream;
	uint64_t known = map_get(&times->number, key, 0);

	if (known)
		return &times->stream[known - 1];
	*array_push(times->stream, times->count) = (struct timed_stream){ 0 };
	map_set(&times->number, key, times->count);
	return &times->stream[times->count - 1];
}

/* Looks for streams in which an operation starts before an earlier one has ended. */
static int look_at(struct times *times, const struct device_record *device)
{
	struct timed_stream *stream = stream_of(times, device);
	uint64_t error = (uint64_t)times->error;

	if (stream->end > error && device->start < stream->end - error)
		times->contradict = stream->contradicts = 1;
	if (device->end > stream->end)
		stream->end = device->end;
	return 0;
}

static int is_node(const struct device_record *device, uint32_t how)
{
	return (how & OVERLAPS_ITSELF && device->kind != DEVICE_GRAPH) ||
		(device->kind == DEVICE_KERNEL && device->value);
}

/* Adds the operation to a stream that look_at() has found. */
static int collect(struct times *times, const struct device_record *device)
{
	struct loaded_process *p = times->p;
	struct timed_stream *stream = stream_of(times, device);
	const uint32_t *slot = sparse_words_find(&p->overlaps, device->correlation);
	uint32_t how = slot ? *slot : 0;
	int64_t start = clock_device_ns(&p->clock, device->start);
	int64_t end = clock_device_ns(&p->clock, device->end);
	struct timed_operation *last = NULL;

	if (stream->count)
		last = &stream->operation[stream->count - 1];
	if (!stream->contradicts || start == CLOCK_NONE || end == CLOCK_NONE ||
		is_node(device, how))
		return 0;
	if (how & OVERLAPS_KERNEL && last && last->kind == DEVICE_KERNEL) {
		stream->count--;
		last = NULL;
	}
	if (device->kind == DEVICE_MEMCPY && memory_is_host(device->src) &&
		memory_is_host(device->dst) && last && start < last->end && last->end <= end)
		start = last->end;
	*large_push(stream->operation, stream->count) = (struct timed_operation){ start, end,
		device->correlation, loader_place(p, device), device->kind };
	return 0;
}

/* Returns the operation of a call; NULL if it has several.  more: of p.more_device. */
static const struct device_record *only_operation(const struct loaded_process *p,
	uint32_t correlation, size_t *more)
{
	const struct device_record *only = NULL, *device;
	uint32_t place = *sparse_words_find(&p->device, correlation);
	int count = 0;

	while (*more < p->more_device_count && p->more_device[*more] >> 32 < correlation)
		++*more;
	for (;;) {
		device = (const struct device_record *)(p->reader.base +
			(size_t)place * TRACE_ALIGN);
		if (device->kind == DEVICE_GRAPH && (!only || only->kind != DEVICE_GRAPH))
			count = 0;
		/* The nodes of a graph do not count beside it. */
		if (device->kind != DEVICE_OVERHEAD &&
			(!only || only->kind != DEVICE_GRAPH || device->kind == DEVICE_GRAPH)) {
			only = device;
			count++;
		}
		if (*more == p->more_device_count || p->more_device[*more] >> 32 != correlation)
			return count == 1 ? only : NULL;
		place = (uint32_t)p->more_device[(*more)++];
	}
}

/* Visits the operations with known times, in order of submission. */
static int visit(struct times *times,
	int (*each)(struct times *times, const struct device_record *device))
{
	enum {
		STEP = 1 << 17
	}; /* number of operations whose part of the trace is kept in memory */
	const struct loaded_process *p = times->p;
	size_t more = 0, visited = 0;
	uint64_t at = 0;
	int rc = 0;

	while (!rc && (at = sparse_words_next(&p->device, at)) != UINT64_MAX) {
		const struct device_record *device = only_operation(p, (uint32_t)at++, &more);

		if (++visited % STEP == 0)
			trace_forget(&p->reader);
		if (device && device->start && device->end >= device->start &&
			!(device->head.flags & DEVICE_INVALID))
			rc = each(times, device);
	}
	return rc;
}

/* Blames operations of a stream, from the last one to start to the first. */
static void blame(struct times *times, struct timed_stream *stream)
{
	struct loaded_process *p = times->p;
	struct timed_operation *operation = stream->operation, *next = NULL;
	int64_t limit = INT64_MAX; /* the latest possible end: a start that is not wrong */

	for (size_t i = stream->count; i-- > 0;) {
		struct timed_operation *this = &operation[i];
		int late = next && this->end - times->error > next->start;
		int lost = late && this->correlation > next->correlation;

		if (late)
			map_set(&p->impossible, this->place, (uint64_t)(lost ? CLOCK_NONE : limit));
		p->lost_times += (uint64_t)lost;
		p->late_ends += (uint64_t)(late && !lost);
		if (!lost)
			limit = this->start;
		if (!late)
			next = this;
	}
}

static void blame_all(struct times *times)
{
	for (size_t i = 0; i < times->count; i++) {
		struct timed_stream *stream = &times->stream[i];

		if (stream->count)
			stream->operation = radix_sort_large(stream->operation, stream->count,
				sizeof(*stream->operation));
		blame(times, stream);
	}
}

int loader_judge_times(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	struct times times = { .p = p, .error = p->clock.error };
	int rc;

	if (times.error < CLOCK_APART_NS)
		times.error = CLOCK_APART_NS;
	if (times.error > CLOCK_ERROR_MAX_NS)
		times.error = CLOCK_ERROR_MAX_NS;
	rc = visit(&times, look_at);
	if (!rc && times.contradict)
		rc = visit(&times, collect);
	if (!rc && times.contradict)
		blame_all(&times);
	for (size_t i = 0; i < times.count; i++)
		large_free(times.stream[i].operation);
	free(times.stream);
	map_release(&times.number);
	sparse_words_release(&p->overlaps);
	return rc;
}

int loader_is_impossible(const struct loaded_process *p, const struct device_record *device,
	int64_t *end)
{
	uint64_t limit = map_get(&p->impossible, loader_place(p, device), (uint64_t)INT64_MAX);

	*end = (int64_t)limit;
	return *end != INT64_MAX;
}
