/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence_tables.h"

#include <stdlib.h>

#include "bounds.h"
#include "concurrency.h"
#include "constants.h"
#include "ids.h"
#include "memory.h"
#include "run_columns.h"

/* Number of operations per device, and of code loads per process, that are remembered. */
#define RECENT 128
#define LOADS 16

struct recent {
	int64_t op, call, stream;
	int64_t start, end;
};

/* A device as used by one process. */
struct late_device {
	struct recent recent[RECENT]; /* a ring */
	size_t count;
	int64_t last_end;   /* latest end of all operations so far, ns */
	struct map streams; /* streams with operations */
};

struct load {
	int64_t call, enter;
};

struct late_process {
	struct load load[LOADS]; /* a ring */
	size_t count;
};

/* Event waits that the next operation of a stream comes after. */
struct held_stream {
	struct event_wait {
		int64_t call;
		struct order_state state;
	} * wait;
	size_t count;
};

struct holds {
	const struct run *run;
	struct run_evidence *evidence;
	struct id_map streams;   /* struct held_stream */
	struct id_map before;    /* struct legacy_pair, by call */
	struct id_map devices;   /* struct late_device, by process and device */
	struct id_map processes; /* struct late_process */
	struct map connections;  /* process -> its CUDA_DEVICE_MAX_CONNECTIONS */
};

struct holds *holds_new(struct db *db, const struct walk_part *part, struct run_evidence *evidence)
{
	struct holds *holds = xcalloc(1, sizeof(*holds));

	holds->run = db->run;
	holds->evidence = evidence;
	legacy_before_find(&holds->before, db->run, part);
	if (!ids_read(&holds->connections, db,
		    "SELECT process, CAST(value AS INTEGER) AS count FROM property "
		    "WHERE name = 'CUDA_DEVICE_MAX_CONNECTIONS' AND count > 0",
		    0))
		return holds;
	holds_free(holds);
	return NULL;
}

static void free_stream(void *object)
{
	struct held_stream *stream = object;

	if (stream)
		free(stream->wait);
	free(stream);
}

static void free_device(void *object)
{
	map_release(&((struct late_device *)object)->streams);
	free(object);
}

void holds_free(struct holds *holds)
{
	if (!holds)
		return;
	id_map_release(&holds->streams, free_stream);
	id_map_release(&holds->before, free);
	id_map_release(&holds->devices, free_device);
	id_map_release(&holds->processes, free);
	map_release(&holds->connections);
	free(holds);
}

/*
 * When the operation was submitted and ready, without these reasons (a bit each), ns.  Ignores work
 * that still had long to run when the operation started: with calls of several threads the order of
 * submission may differ.
 */
static int64_t ready_at(const struct order *order, const struct walk_call *call, unsigned besides)
{
	int64_t ready = call->enter + LAUNCH_MAX_NS;

	for (int i = 0; i < ORDER_REASONS; i++) {
		const struct order_state *need = &order->needs[i];

		if (!(besides & 1u << i) && need->op && need->end > ready &&
			need->end - HANDOVER_MAX_NS <= call->op_start)
			ready = need->end;
	}
	return ready;
}

static int can_overlap(const struct run *run, const struct walk_call *call,
	const struct order_state *by)
{
	struct shape held = shape_of(run, call->op), behind = shape_of(run, by->op);

	return shape_can_overlap(&held, &behind);
}

static void add_hold(struct holds *holds, const struct walk_call *call,
	const struct order_state *by, int64_t via, enum hold_reason reason, int64_t ready,
	int64_t until)
{
	if (can_overlap(holds->run, call, by))
		run_add_hold(holds->evidence,
			&(struct run_hold){ .op = (uint32_t)call->op,
				.behind = (uint32_t)by->op,
				.via = (uint32_t)via,
				.reason = reason,
				.ready = ready,
				.held = until - ready });
}

static int is_foreign(int64_t context, const struct walk_call *call)
{
	return context && context != call->stream_context;
}

static void add_legacy_hold(struct holds *holds, const struct order *order,
	const struct walk_call *call, const struct order_state *by, const struct legacy_pair *pair)
{
	const struct run_call *legacy = run_call(holds->run, by->call);
	unsigned besides = 1u << ORDER_LEGACY;
	int64_t ready, gap, until = call->op_start, via = by->call;

	if (!by->op)
		return;
	/*
	 * All threads share the legacy stream: a thread's own earlier work there comes first by
	 * intent; work of other threads counts like any legacy work.
	 */
	if (pair && call->stream_kind == STREAM_KIND_LEGACY)
		besides |= 1u << ORDER_STREAM | 1u << ORDER_AFTERWARDS;
	ready = ready_at(order, call, besides);
	if (pair && pair->ready > ready)
		ready = pair->ready;
	if (call->op_start - ready < HELD_MIN_NS || by->end <= ready)
		return;
	/* The gap between the two may be the hand-over, a host function, or something else. */
	gap = call->op_start - by->end;
	if (llabs(gap) > HANDOVER_MAX_NS) {
		if (gap < 0 || !legacy || kind_family(legacy->kind) != FAMILY_callback)
			return;
		if (gap > HOST_FUNCTION_MAX_NS)
			until = by->end;
	}
	/*
	 * What makes it legacy work: the legacy one of the two calls, or the copy between devices,
	 * which is part of the legacy streams of both.
	 */
	if (call->stream_kind == STREAM_KIND_LEGACY &&
		(is_foreign(call->dst_context, call) || is_foreign(call->src_context, call) ||
			!legacy ||
			!is_foreign(run_stream(holds->run, legacy->stream)->context, call)))
		via = call->id;
	if (until - ready >= HELD_MIN_NS)
		add_hold(holds, call, by, via, HOLD_LEGACY, ready, until);
}

/*
 * Each event wait that blocked the operation for long gets a row, if the operation started when the
 * last one ended.
 */
static void add_event_holds(struct holds *holds, const struct order *order,
	const struct walk_call *call, const struct held_stream *stream)
{
	int64_t ready = ready_at(order, call, 1u << ORDER_EVENT), first = ready, last = INT64_MIN;

	for (size_t i = 0; i < stream->count; i++)
		last = at_least(last, stream->wait[i].state.end);
	if (call->op_start - ready < HELD_MIN_NS || last <= ready ||
		llabs(call->op_start - last) > HANDOVER_MAX_NS)
		return;
	/* When everything that may be required was complete. */
	for (size_t i = 0; i < stream->count; i++) {
		const struct order_state *state = &stream->wait[i].state;

		if (state->end > ready &&
			(state->end - first < HELD_MIN_NS || !can_overlap(holds->run, call, state)))
			ready = state->end;
	}
	for (size_t i = 0; i < stream->count; i++) {
		const struct event_wait *wait = &stream->wait[i];
		int64_t until = wait->state.end == last ? call->op_start : wait->state.end;

		if (until - ready >= HELD_MIN_NS)
			add_hold(holds, call, &wait->state, wait->call, HOLD_EVENT, ready, until);
	}
}

/* --- why operations started late that were ready --- */

static void explain(struct holds *holds, const struct late_device *device,
	const struct late_process *process, const struct walk_call *call, int64_t ready)
{
	const struct recent *behind = NULL; /* the last one that ended just before the start */
	enum hold_reason why = device->last_end > ready ? HOLD_UNKNOWN : HOLD_QUEUE;
	struct shape held = shape_of(holds->run, call->op), other;
	double taken = 0; /* of the device, just before the other one ended */
	int64_t via = 0;

	for (size_t i = 0; i < device->count && i < RECENT; i++) {
		const struct recent *recent = &device->recent[i];

		if (recent->stream != call->stream && recent->end > ready &&
			recent->start < call->op_start &&
			llabs(call->op_start - recent->end) <= HANDOVER_MAX_NS &&
			(!behind || recent->end > behind->end))
			behind = recent;
	}
	/* Code that was loaded while the other operation ran serialized the two. */
	for (size_t i = 0; behind && i < process->count && i < LOADS; i++) {
		const struct load *load = &process->load[i];

		if (load->call <= call->id && behind->call < load->call &&
			behind->end > load->enter)
			via = load->call;
	}
	for (size_t i = 0; behind && i < device->count && i < RECENT; i++) {
		const struct recent *recent = &device->recent[i];

		if (recent->start < behind->end && recent->end >= behind->end)
			taken += shape_of(holds->run, recent->op).part;
	}
	other = shape_of(holds->run, behind ? behind->op : call->op);
	if (behind && via)
		why = HOLD_LOAD;
	else if (behind && held.kind == 'c' && other.kind == 'c' &&
		held.copy_kind == other.copy_kind)
		why = HOLD_ENGINE;
	else if (behind && held.kind == 'k' && other.kind == 'k' && taken + held.part > 1)
		why = HOLD_FULL;
	else if (behind)
		why = device->streams.count > map_get(&holds->connections, (uint64_t)call->process,
						      CONNECTIONS_DEFAULT)
			? HOLD_CHANNEL
			: HOLD_UNKNOWN;
	run_add_hold(holds->evidence,
		&(struct run_hold){ .op = (uint32_t)call->op,
			.behind = behind ? (uint32_t)behind->op : 0,
			.via = (uint32_t)via,
			.reason = why,
			.ready = ready,
			.held = call->op_start - ready });
}

/* When all recorded dependencies were complete, ns; WALK_NEVER: unknown. */
static int64_t all_ready_at(const struct holds *holds, const struct order *order,
	const struct walk_call *call, int64_t legacy_end)
{
	int64_t ready = call->enter + LAUNCH_MAX_NS;

	/* A graph, or a copy that may wait for the host. */
	if (call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE ||
		kind_family(call->kind) == FAMILY_graph_launch ||
		(kind_family(call->kind) == FAMILY_copy && kind_has(call->kind, K_DEFAULT_STREAM)))
		return WALK_NEVER;
	/* Long calls submit at their end. */
	ready = at_least(ready, call->exit);
	ready = at_least(ready, legacy_end);
	for (int i = 0; i < ORDER_REASONS; i++)
		if (order->needs[i].op && order->needs[i].end > ready)
			ready = order->needs[i].end;
	if (ready == WALK_NEVER || call->op_start - ready < BLOCKED_MIN_NS)
		return WALK_NEVER;
	/* Of some calls the completion is not recorded. */
	for (int i = 0; i < ORDER_REASONS; i++) {
		const struct run_call *needed = run_call(holds->run, order->needs[i].call);

		if (needed && kind_has(needed->kind, K_SILENT | K_UNTIMED))
			return WALK_NEVER;
	}
	return ready;
}

/*
 * The last argument is the end of the last legacy or blocking work that the operation comes after,
 * ns.
 */
static void process_late_start(struct holds *holds, const struct order *order,
	const struct walk_call *call, int64_t legacy_end)
{
	int64_t device_id = call->process << 16 | (call->device & 0xffff);
	struct late_device *device = id_map_get(&holds->devices, device_id);
	struct late_process *process =
		id_map_need(&holds->processes, call->process, sizeof(*process));
	int64_t ready;

	if (call->overhead ? run_has_overhead(holds->run, call->id, OVERHEAD_LAZY_LOADING)
			   : call->kind == KIND_MODULE_LOAD)
		process->load[process->count++ % LOADS] = (struct load){ call->id, call->enter };
	if (call->kind == KIND_STREAM_DESTROY) {
		if (device)
			map_remove(&device->streams, (uint64_t)call->stream);
		return;
	}
	if (!call->op || call->op_start == WALK_NEVER || call->op_end == WALK_NEVER)
		return;
	if (!device)
		device = id_map_need(&holds->devices, device_id, sizeof(*device));
	if (call->stream)
		map_set(&device->streams, (uint64_t)call->stream, 1);
	ready = all_ready_at(holds, order, call, legacy_end);
	if (ready != WALK_NEVER)
		explain(holds, device, process, call, ready);
	/* When it ended is not known, so nothing is known to have started then. */
	if (call->end_is_limit)
		return;
	device->recent[device->count++ % RECENT] = (struct recent){ .op = call->op,
		.call = call->id,
		.stream = call->stream,
		.start = call->op_start,
		.end = call->op_end };
	device->last_end = at_least(device->last_end, call->op_end);
}

/* --- calls --- */

void holds_process_call(struct holds *holds, const struct order *order,
	const struct walk_call *call)
{
	/* As the device ran it if threads submitted at the same time, else in order of calls. */
	const struct legacy_pair *pair = id_map_get(&holds->before, call->id);
	struct order_state legacy = pair ? pair->by : order->needs[ORDER_LEGACY];
	struct held_stream *stream;

	if (call->kind == KIND_STREAM_WAIT) {
		struct event_wait wait = { call->id, order_of_event(order, call) };

		if (!wait.state.op || call->result || call->captured || !call->stream)
			return;
		stream = id_map_need(&holds->streams, call->stream, sizeof(*stream));
		*array_push(stream->wait, stream->count) = wait;
		return;
	}
	if (call->kind == KIND_STREAM_DESTROY)
		free_stream(id_map_take(&holds->streams, call->stream));
	process_late_start(holds, order, call, legacy.op ? legacy.end : INT64_MIN);
	if (!call->op || call->op_start == WALK_NEVER)
		return;
	stream = id_map_get(&holds->streams, call->stream);
	if (stream && stream->count)
		add_event_holds(holds, order, call, stream);
	if (stream)
		stream->count = 0;
	if (!call_is_sync_copy(call->kind) || call->direction == COPY_D2D)
		add_legacy_hold(holds, order, call, &legacy, pair);
}
