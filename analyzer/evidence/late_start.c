/* SPDX-License-Identifier: Apache-2.0 */
#include "late_start.h"

#include <stdlib.h>

#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "concurrency.h"
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

struct late {
	struct id_map devices, processes;
	struct map connections; /* process -> its CUDA_DEVICE_MAX_CONNECTIONS */
	struct run *run;
};

struct late *late_new(struct db *db)
{
	struct late *late = xcalloc(1, sizeof(*late));
	sqlite3_stmt *q = db_prepare(db,
		"SELECT process, CAST(value AS INTEGER) FROM property "
		"WHERE name = 'CUDA_DEVICE_MAX_CONNECTIONS'");
	int step = -1;

	late->run = db->run;
	while (q && (step = db_step(q)) > 0)
		if (sqlite3_column_int64(q, 1) > 0)
			map_set(&late->connections, (uint64_t)sqlite3_column_int64(q, 0),
				(uint64_t)sqlite3_column_int64(q, 1));
	sqlite3_finalize(q);
	if (!step)
		return late;
	late_free(late);
	return NULL;
}

static void free_device(void *object)
{
	struct late_device *device = object;

	map_release(&device->streams);
	free(device);
}

void late_free(struct late *late)
{
	if (!late)
		return;
	id_map_release(&late->devices, free_device);
	id_map_release(&late->processes, free);
	map_release(&late->connections);
	free(late);
}

/* --- reasons --- */

/* Returns the last operation that ended just before the start; NULL if none. */
static const struct recent *just_ended(const struct late_device *device,
	const struct walk_call *call, int64_t ready)
{
	const struct recent *found = NULL;

	for (size_t i = 0; i < device->count && i < RECENT; i++) {
		const struct recent *recent = &device->recent[i];

		if (recent->stream == call->stream || recent->end <= ready ||
			recent->start >= call->op_start ||
			llabs(call->op_start - recent->end) > HANDOVER_MAX_NS)
			continue;
		if (!found || recent->end > found->end)
			found = recent;
	}
	return found;
}

/* HOLD_ENGINE, HOLD_FULL or one of the remaining reasons. */
static enum hold_reason why_behind(const struct late *late, const struct late_device *device,
	const struct walk_call *call, const struct recent *behind)
{
	struct shape held = shape_of(late->run, call->op), other = shape_of(late->run, behind->op);
	double taken = 0; /* of the device, just before the other one ended */

	if (held.kind == 'c' && other.kind == 'c' && held.copy_kind == other.copy_kind)
		return HOLD_ENGINE;
	for (size_t i = 0; held.kind == 'k' && i < device->count && i < RECENT; i++) {
		const struct recent *recent = &device->recent[i];

		if (recent->start < behind->end && recent->end >= behind->end)
			taken += shape_of(late->run, recent->op).part;
	}
	if (held.kind == 'k' && other.kind == 'k' && taken + held.part > 1)
		return HOLD_FULL;
	return device->streams.count >
			map_get(&late->connections, (uint64_t)call->process, CONNECTIONS_DEFAULT)
		? HOLD_CHANNEL
		: HOLD_UNKNOWN;
}

static void explain(struct late *late, const struct late_device *device,
	const struct late_process *process, const struct walk_call *call, int64_t ready)
{
	const struct recent *behind = just_ended(device, call, ready);
	enum hold_reason why = device->last_end > ready ? HOLD_UNKNOWN : HOLD_QUEUE;
	int64_t via = 0;

	/* Code that was loaded while the other operation ran serialized the two. */
	for (size_t i = 0; behind && i < process->count && i < LOADS; i++) {
		const struct load *load = &process->load[i];

		if (load->call <= call->id && behind->call < load->call &&
			behind->end > load->enter)
			via = load->call;
	}
	if (behind)
		why = via ? HOLD_LOAD : why_behind(late, device, call, behind);
	run_add_hold(&late->run->evidence,
		&(struct run_hold){ .op = (uint32_t)call->op,
			.behind = behind ? (uint32_t)behind->op : 0,
			.via = (uint32_t)via,
			.reason = why,
			.ready = ready,
			.held = call->op_start - ready });
}

/* --- late operations --- */

/* When all recorded dependencies were complete, ns; WALK_NEVER: unknown. */
static int64_t ready_at(const struct late *late, const struct order *order,
	const struct walk_call *call, int64_t legacy_end)
{
	int64_t ready = call->enter + LAUNCH_MAX_NS;

	/* Long calls submit at their end. */
	if (call->exit > ready)
		ready = call->exit;
	if (legacy_end > ready)
		ready = legacy_end;
	for (int i = 0; i < ORDER_REASONS; i++)
		if (order->needs[i].op && order->needs[i].end > ready)
			ready = order->needs[i].end;
	if (ready == WALK_NEVER || call->op_start - ready < BLOCKED_MIN_NS)
		return WALK_NEVER;
	/* Of some calls the completion is not recorded. */
	for (int i = 0; i < ORDER_REASONS; i++) {
		const struct run_call *needed = run_call(late->run, order->needs[i].call);

		if (needed && kind_has(needed->kind, K_SILENT | K_UNTIMED))
			return WALK_NEVER;
	}
	return ready;
}

/* Such a copy may wait for the host. */
static int is_staged(const struct walk_call *call)
{
	if (kind_family(call->kind) == FAMILY_copy && kind_has(call->kind, K_DEFAULT_STREAM))
		return 1;
	return call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE ||
		kind_family(call->kind) == FAMILY_graph_launch;
}

void late_start_process_call(struct late *late, const struct order *order,
	const struct walk_call *call, int64_t legacy_end)
{
	int64_t device_id = call->process << 16 | (call->device & 0xffff);
	struct late_device *device = id_map_get(&late->devices, device_id);
	struct late_process *process =
		id_map_need(&late->processes, call->process, sizeof(*process));
	int64_t ready;

	if (call->overhead ? run_has_overhead(late->run, call->id, OVERHEAD_LAZY_LOADING)
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
		device = id_map_need(&late->devices, device_id, sizeof(*device));
	if (call->stream)
		map_set(&device->streams, (uint64_t)call->stream, 1);
	ready = is_staged(call) ? WALK_NEVER : ready_at(late, order, call, legacy_end);
	if (ready != WALK_NEVER)
		explain(late, device, process, call, ready);
	/* When it ended is not known, so nothing is known to have started then. */
	if (call->end_is_limit)
		return;
	device->recent[device->count++ % RECENT] = (struct recent){ .op = call->op,
		.call = call->id,
		.stream = call->stream,
		.start = call->op_start,
		.end = call->op_end };
	if (call->op_end > device->last_end)
		device->last_end = call->op_end;
}
