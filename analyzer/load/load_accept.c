/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plausibility of records: times are within CLOCK_MOST of the run's start, nothing ends before it
 * begins, all durations have a possible sum, and sizes are possible memory sizes.  Records that
 * violate this are damaged and left out here, so that later code cannot overflow.
 */
#include "loader.h"

#include <string.h>

#include "load_accept.h"

/* Upper limit of polls within CLOCK_MOST. */
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
		clock_host(clock, polls.last) != CLOCK_NONE;
}

int loader_accept_call(struct loader *loader, const struct record *record)
{
	const struct clock *clock = &loader->p.clock;
	const struct call_record *call = (const struct call_record *)record;
	uint64_t lasts;

	if (record->type == RECORD_ENTER)
		return clock_host(clock, ((const struct enter_record *)record)->enter) !=
			CLOCK_NONE ||
			refuse(loader);
	lasts = call_duration(call);
	if (call->enter > UINT64_MAX - lasts || !accept_polls(clock, call) ||
		!accept_sizes(loader, call) ||
		!accept_interval(loader, clock_host(clock, call->enter),
			clock_host(clock, call->enter + lasts)))
		return refuse(loader);
	return 1;
}

int loader_accept_device(struct loader *loader, const struct device_record *device)
{
	const struct clock *clock = &loader->p.clock;
	int64_t start = clock_device(clock, device->start);

	if (device->head.flags & DEVICE_INVALID)
		return 1;
	/* 0: unknown. */
	if (!device->start && !device->end)
		return 1;
	if (!device->start || !device->end)
		return clock_device(clock, device->start | device->end) != CLOCK_NONE ||
			refuse(loader);
	return accept_interval(loader, start, clock_device(clock, device->end)) || refuse(loader);
}

int loader_accept_window(struct loader *loader, const struct window_record *window)
{
	return clock_host(&loader->p.clock, window->ticks) != CLOCK_NONE || refuse(loader);
}

int loader_polls(const struct call_record *call, struct call_polls *polls)
{
	size_t bytes = record_bytes(&call->head);

	if (!(call->head.flags & CALL_POLLS) || bytes < sizeof(*call) + sizeof(*polls))
		return 0;
	memcpy(polls, (const char *)call + bytes - sizeof(*polls), sizeof(*polls));
	return 1;
}
