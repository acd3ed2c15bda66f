/* SPDX-License-Identifier: Apache-2.0 */
#include "run_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "host_runs.h"
#include "memory.h"
#include "polls.h"
#include "run_internal.h"
#include "unknown.h"

struct run *run_new(const struct run_room *room)
{
	struct run *run = xcalloc(1, sizeof(*run));
	struct scratch *scratch = &run->scratch;

	run->building = xcalloc(1, sizeof(*run->building));
	if (!scratch_open(scratch) &&
		!column_open(&run->calls, scratch, sizeof(struct run_call), room->calls + 1) &&
		!column_open(&run->links, scratch, sizeof(struct run_link), room->calls + 1) &&
		!column_open(&run->payloads, scratch, sizeof(struct run_payload),
			room->calls + 1) &&
		!column_open(&run->works, scratch, sizeof(struct run_work), room->works + 1) &&
		!column_open(&run->operands, scratch, sizeof(struct run_operand),
			room->operands + 1) &&
		!column_open(&run->launches, scratch, sizeof(struct run_ended),
			room->launches + 1) &&
		column_need(&run->payloads, 0))
		return run;
	run_close(run);
	return NULL;
}

/* Addresses that the columns reserve for a trace are a part of those that the process may have. */
enum { RESERVED_PART = 4 };

static uint64_t reserved_bytes(const struct run_room *room)
{
	return room->calls *
		(sizeof(struct run_call) + sizeof(struct run_link) + sizeof(struct run_payload)) +
		room->works * sizeof(struct run_work) +
		room->operands * sizeof(struct run_operand) +
		room->launches * sizeof(struct run_ended);
}

/* A call has at least a record of its entry, an operand a word. */
static struct run_room room_of_records(uint64_t bytes)
{
	return (struct run_room){
		.calls = bytes / sizeof(struct enter_record),
		.works = bytes / sizeof(struct enter_record),
		.operands = bytes / sizeof(uint64_t),
		.launches = bytes / sizeof(struct call_record),
	};
}

struct run_room run_room_of(uint64_t bytes, size_t runs)
{
	struct run_room room = room_of_records(bytes);
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return room;
	while (bytes && reserved_bytes(&room) > limit.rlim_cur / RESERVED_PART / runs) {
		bytes /= 2;
		room = room_of_records(bytes);
	}
	return room;
}

/* 1: the column has no space for such a row. */
static int is_full(struct run *run, const struct column *column, uint64_t number)
{
	run->building->left_out |= number >= column->most;
	return run->building->left_out;
}

/* --- calls --- */

/* cudaMemcpyDefault and cuMemcpy: direction from the memory kinds, as the driver decides. */
static enum copy_direction direction_of(enum memory_kind src, enum memory_kind dst,
	int64_t recorded)
{
	int from_host = memory_is_host(src), to_host = memory_is_host(dst);

	if (recorded >= COPY_H2H && recorded < COPY_DEFAULT)
		return (enum copy_direction)recorded;
	if (src == MEMORY_UNKNOWN || dst == MEMORY_UNKNOWN || src == MEMORY_MANAGED ||
		dst == MEMORY_MANAGED)
		return COPY_DEFAULT;
	return from_host ? (to_host ? COPY_H2H : COPY_H2D) : (to_host ? COPY_D2H : COPY_D2D);
}

static int add_payload(struct run *run, const struct run_call_facts *facts, uint32_t *number)
{
	struct column *payloads = &run->payloads;
	uint32_t next = (uint32_t)payloads->count;
	struct run_payload payload = facts->payload, *slot;

	payload.direction = (uint8_t)direction_of(payload.src, payload.dst, facts->direction);
	*number = run_seen_need(&run->building->payloads, payloads->rows, &payload, sizeof(payload),
		next);
	if (*number != next)
		return *number ? 0 : -1;
	slot = column_need(payloads, next);
	if (slot)
		*slot = payload;
	return slot ? 0 : -1;
}

/* Stores the end as a duration if it fits into the row, else in the map. */
static void set_end(struct map *ends, uint32_t id, int64_t start, int64_t end, uint32_t *duration)
{
	int64_t ns;

	*duration = DURATION_NEVER;
	if (end == RUN_NEVER)
		return;
	if (start != RUN_NEVER && !__builtin_sub_overflow(end, start, &ns) && ns >= 0 &&
		ns < DURATION_LONG) {
		*duration = (uint32_t)ns;
		return;
	}
	*duration = DURATION_LONG;
	map_set(ends, id, (uint64_t)end);
}

int run_add_call(struct run *run, const struct run_call_facts *facts)
{
	struct run_call *call;
	struct run_link *link;
	uint32_t payload;

	run->building->left_out |= facts->type > UINT16_MAX;
	if (is_full(run, &run->calls, facts->id))
		return 0;
	call = column_need(&run->calls, facts->id);
	link = column_need(&run->links, facts->id);
	if (!call || !link || add_payload(run, facts, &payload))
		return -1;
	*call = (struct run_call){
		.enter = facts->enter,
		.type = (uint16_t)facts->type,
		.kind = (uint8_t)facts->kind,
		.flags = CALL_IS_THERE | (facts->returned ? CALL_RETURNED : 0),
		.thread = facts->thread,
		.stream = facts->stream,
		.payload = payload,
	};
	*link = (struct run_link){ .parent = facts->parent, .site = facts->site };
	set_end(&run->long_calls, facts->id, facts->enter, facts->exit, &call->duration);
	return 0;
}

/* --- operations --- */

static void add_where(struct run *run, const struct run_where *where, uint32_t *number)
{
	/* Row 0 is empty. */
	if (!run->where_count)
		*array_push(run->where, run->where_count) = (struct run_where){ 0 };
	*number = run_seen_need(&run->building->where, run->where, where, sizeof(*where),
		(uint32_t)run->where_count);
	if (*number == run->where_count)
		*array_push(run->where, run->where_count) = *where;
}

int run_add_work(struct run *run, const struct run_work_facts *facts)
{
	struct run_work *work;

	if (is_full(run, &run->works, facts->id))
		return 0;
	work = column_need(&run->works, facts->id);
	if (!work)
		return -1;
	add_where(run, &facts->where, &work->where);
	work->start = facts->start;
	work->call = facts->call;
	set_end(&run->long_works, facts->id, facts->start, facts->end, &work->duration);
	return 0;
}

/* --- lists --- */

int run_add_operand(struct run *run, const struct run_operand *operand)
{
	struct run_operand *row;

	if (is_full(run, &run->operands, run->operands.count))
		return 0;
	row = column_need(&run->operands, run->operands.count);
	if (row)
		*row = *operand;
	return row ? 0 : -1;
}

int run_add_launch(struct run *run, uint32_t call, uint32_t shape)
{
	struct run_ended *row;

	if (is_full(run, &run->launches, run->launches.count))
		return 0;
	row = column_need(&run->launches, run->launches.count);
	if (row)
		*row = (struct run_ended){ call, shape };
	return row ? 0 : -1;
}

static int is_captured(struct run_cursor *objects, uint32_t call)
{
	const struct run_object *object;
	int captured = 0;

	for (; (object = run_cursor_at(objects, call)); objects->at++)
		captured |= object->role == OBJECT_CAPTURED;
	return captured;
}

/* As view dependency defines it. */
static void chain_streams(struct run *run)
{
	struct run_link *links = (struct run_link *)run->links.rows;
	struct run_cursor objects = { .rows = &run->objects };
	uint32_t *last = xcalloc(run->stream_count + 1, sizeof(*last));

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);

		if (!call || !kind_has(call->kind, K_WORK) || !call->stream ||
			call->stream >= run->stream_count || run_payload(run, call)->result ||
			is_captured(&objects, id))
			continue;
		links[id].before = last[call->stream];
		last[call->stream] = id;
	}
	free(last);
}

/* Links the operations of each call into a ring, in order of id. */
static void chain_works(struct run *run)
{
	struct run_call *calls = (struct run_call *)run->calls.rows;
	struct run_work *works = (struct run_work *)run->works.rows;

	for (uint32_t id = 1; id < run_work_end(run); id++) {
		uint32_t *last;

		if (!run_work(run, id))
			continue;
		works[id].next = id;
		if (!run_call(run, works[id].call))
			continue;
		last = &calls[works[id].call].last_work;
		if (*last) {
			works[id].next = works[*last].next;
			works[*last].next = id;
		}
		*last = id;
	}
}

int run_is_by_node(const struct run *run)
{
	for (uint32_t id = 1; id < run_work_end(run) && !run->building->left_out; id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_call *call = work ? run_call(run, work->call) : NULL;

		if (call && kind_family(call->kind) == FAMILY_graph_launch &&
			run_where(run, work)->kind != WORK_GRAPH)
			return 1;
	}
	return run->building->left_out ? -1 : 0;
}

/* Joins launches that were recorded node by node (work.h). */
static int join_nodes(struct run *run, struct db *db)
{
	int64_t joined = db_int(db,
		"SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE name = 'work_of_nodes')", 0);
	uint64_t most = run->works.most;

	run->joined = joined != 0;
	if (db->failed || !joined || run->building->joined)
		return db->failed ? -1 : 0;
	column_close(&run->works);
	map_release(&run->long_works);
	return column_open(&run->works, &run->scratch, sizeof(struct run_work), most) ||
			run_read_works(run, db)
		? -1
		: 0;
}

int run_complete(struct run *run, struct db *db)
{
	if (run->building->left_out)
		return 1;
	if (join_nodes(run, db) || run_read_tables(run, db) || run_read_lists(run, db))
		return -1;
	/* --- computed from all rows --- */
	struct run_link *links = (struct run_link *)run->links.rows;
	uint32_t *last = xcalloc(run->thread_count, sizeof(*last));

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);

		if (!call || call->thread >= run->thread_count)
			continue;
		if (last[call->thread])
			links[last[call->thread]].next = id;
		else
			run->thread[call->thread].first = id;
		last[call->thread] = id;
	}
	free(last);
	chain_streams(run);
	if (run->building->left_out)
		return 1;
	chain_works(run);
	if (host_runs_read(run, db) || polls_find(run, db))
		return -1;
	run_building_free(run);
	return unknown_find(run, db);
}

void run_building_free(struct run *run)
{
	if (!run->building)
		return;
	run_seen_release(&run->building->payloads);
	run_seen_release(&run->building->where);
	free(run->building);
	run->building = NULL;
}
