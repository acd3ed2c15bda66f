/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane holds the calls of one thread in the order in which they returned: their position in the
 * file, found in the first pass, and a few of its calls at a time in order of entry.
 */
#include "loader.h"

#include <stdio.h>
#include <stdlib.h>

#include "load_accept.h"
#include "memory.h"

static uint64_t time_of(const struct record *record)
{
	const struct call_record *call = (const struct call_record *)record;

	if (record->type == RECORD_ENTER)
		return ((const struct enter_record *)record)->enter;
	return call->enter + call_duration(call);
}

static struct lane *new_lane(struct loader *loader, uint32_t thread)
{
	struct loaded_process *p = &loader->p;
	*array_push(p->lane, p->lane_count) = (struct lane){ .thread = thread };
	map_set(&p->thread_lanes, thread, p->lane_count);
	return &p->lane[p->lane_count - 1];
}

/*
 * Returns the thread's lane.  A reused thread id may appear out of order in the file: a new lane
 * begins where the next chunk goes back in time.
 */
static struct lane *lane_of(struct loader *loader, uint32_t thread, const struct record *record)
{
	struct loaded_process *p = &loader->p;
	uint64_t known = map_get(&p->thread_lanes, thread, 0);
	struct lane *lane = known ? &p->lane[known - 1] : NULL;

	if (!lane || (lane->chunk != p->reader.chunk && time_of(record) < lane->last))
		lane = new_lane(loader, thread);
	return lane;
}

int lane_file(struct loader *loader, uint32_t thread, const struct record *record)
{
	struct loaded_process *p = &loader->p;
	struct lane *lane = lane_of(loader, thread, record);

	if (!lane)
		return -1;
	if (lane->chunk != p->reader.chunk || lane->damaged != p->reader.damaged ||
		p->last_lane != (size_t)(lane - p->lane)) {
		*array_push(lane->segment, lane->segment_count) =
			(struct segment){ (const char *)record, (const char *)record };
		lane->chunk = p->reader.chunk;
		lane->damaged = p->reader.damaged;
	}
	lane->segment[lane->segment_count - 1].end = (const char *)record + record_bytes(record);
	lane->last = time_of(record);
	p->last_lane = (size_t)(lane - p->lane);
	return 0;
}

/* Returns the next record of a call, NULL at the end.  All records were validated before. */
static const struct record *read_record(struct lane *lane)
{
	while (lane->segment_next < lane->segment_count || lane->position < lane->end) {
		const struct record *record;

		if (lane->position >= lane->end) {
			lane->position = lane->segment[lane->segment_next].start;
			lane->end = lane->segment[lane->segment_next++].end;
		}
		record = (const struct record *)lane->position;
		/* A file that is still being written may change. */
		if (!record->words)
			lane->position = lane->end;
		else
			lane->position += record_bytes(record);
		if (lane->position <= lane->end && record->words &&
			(record->type == RECORD_CALL || record->type == RECORD_ENTER))
			return record;
	}
	return NULL;
}

static void add_call(struct lane *lane, const struct record *record)
{
	int returned = record->type == RECORD_CALL;

	if (lane->count == lane->room) {
		lane->room = lane->room ? 2 * lane->room : 4;
		lane->call = xrealloc(lane->call, lane->room, sizeof(*lane->call));
	}
	lane->call[lane->count++] = (struct lane_call){
		.record = record,
		.enter = returned ? ((const struct call_record *)record)->enter
				  : ((const struct enter_record *)record)->enter,
		.exit = returned ? time_of(record) : UINT64_MAX,
	};
}

/* Calls are complete up to the end of a top-level call. */
int lane_fill(struct loader *loader, struct lane *lane)
{
	const struct record *record;

	lane->count = lane->next = 0;
	while ((record = read_record(lane))) {
		if (!loader_accept_call(loader, record))
			continue;
		add_call(lane, record);
		if (record->type == RECORD_CALL && !(record->flags & CALL_NESTED))
			break;
	}
	return lane->count > 1 ? lane_order(lane) : 0;
}

void lane_release(struct lane *lane)
{
	free(lane->segment);
	free(lane->call);
}
