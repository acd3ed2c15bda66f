/* SPDX-License-Identifier: Apache-2.0 */
#include "late_start.h"

#include <stdlib.h>

#include "constants.h"
#include "idmap.h"
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
	int64_t last_end;     /* latest end of all operations so far, ns */
	struct idmap streams; /* streams with operations */
};

struct load {
	int64_t call, enter;
};

struct late_process {
	struct load load[LOADS]; /* a ring */
	size_t count;
	int64_t connections;
};

struct late {
	struct idmap devices, processes;
	struct run *run;
	sqlite3_stmt *connections;
};

struct late *late_new(struct db *db)
{
	struct late *late = calloc(1, sizeof(*late));

	if (!late)
		return NULL;
	late->run = db->run;
	late->connections = db_prepare(db,
		"SELECT CAST(value AS INTEGER) FROM property "
		"WHERE process = ? AND name = 'CUDA_DEVICE_MAX_CONNECTIONS'");
	if (late->connections)
		return late;
	late_free(late);
	return NULL;
}

static void free_device(void *object)
{
	struct late_device *device = object;

	/* The values are marks, not pointers. */
	for (size_t i = 0; device && i < device->streams.size; i++)
		device->streams.slot[i].object = NULL;
	if (device)
		idmap_release(&device->streams, free);
	free(device);
}

void late_free(struct late *late)
{
	if (!late)
		return;
	idmap_release(&late->devices, free_device);
	idmap_release(&late->processes, free);
	sqlite3_finalize(late->connections);
	free(late);
}

/* It submitted something whose completion is not recorded. */
static int is_silent(const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, id);

	return call && kind_has(call->kind, K_SILENT | K_UNTIMED);
}

static struct late_process *process_of(struct late *late, int64_t id)
{
	struct late_process *process = idmap_need(&late->processes, id, sizeof(*process));

	if (!process || process->connections)
		return process;
	process->connections = CONNECTIONS_DEFAULT;
	if (db_bind(late->connections, "i", id))
		return NULL;
	if (db_step(late->connections) > 0 && sqlite3_column_int64(late->connections, 0) > 0)
		process->connections = sqlite3_column_int64(late->connections, 0);
	sqlite3_reset(late->connections);
	return process;
}

static void note_load(const struct late *late, struct late_process *process,
	const struct walk_call *call)
{
	if (call->overhead ? run_has_overhead(late->run, call->id, OVERHEAD_LAZY_LOADING)
			   : call->kind == KIND_MODULE_LOAD)
		process->load[process->count++ % LOADS] =
			(struct load){ .call = call->id, .enter = call->enter };
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

static int ran_at_load(const struct load *load, const struct recent *recent)
{
	return recent->call < load->call && recent->end > load->enter;
}

/* The code load that serialized the two operations; 0: none. */
static int64_t loaded_between(const struct late_process *process, const struct recent *recent,
	const struct walk_call *call)
{
	int64_t found = 0;

	for (size_t i = 0; i < process->count && i < LOADS; i++)
		if (process->load[i].call <= call->id && ran_at_load(&process->load[i], recent))
			found = process->load[i].call;
	return found;
}

/* Fraction of the device in use just before an operation ended. */
static double taken_beside(const struct late *late, const struct late_device *device,
	const struct recent *last)
{
	double taken = 0;

	for (size_t i = 0; i < device->count && i < RECENT; i++) {
		const struct recent *recent = &device->recent[i];

		if (recent->start < last->end && recent->end >= last->end)
			taken += shape_of(late->run, recent->op).part;
	}
	return taken;
}

/* HOLD_ENGINE, HOLD_FULL or one of the remaining reasons. */
static enum hold_reason why_behind(const struct late *late, const struct late_device *device,
	const struct late_process *process, const struct walk_call *call,
	const struct recent *behind)
{
	struct shape held = shape_of(late->run, call->op), other = shape_of(late->run, behind->op);

	if (held.kind == 'c' && other.kind == 'c' && held.copy_kind == other.copy_kind)
		return HOLD_ENGINE;
	if (held.kind == 'k' && other.kind == 'k' &&
		taken_beside(late, device, behind) + held.part > 1)
		return HOLD_FULL;
	return (int64_t)device->streams.count > process->connections ? HOLD_CHANNEL : HOLD_UNKNOWN;
}

static int explain(struct late *late, const struct late_device *device,
	const struct late_process *process, const struct walk_call *call, int64_t ready)
{
	const struct recent *behind = just_ended(device, call, ready);
	int64_t via = behind ? loaded_between(process, behind, call) : 0;
	enum hold_reason why = via         ? HOLD_LOAD
		: behind                   ? why_behind(late, device, process, call, behind)
		: device->last_end > ready ? HOLD_UNKNOWN
					   : HOLD_QUEUE;

	return run_add_hold(&late->run->evidence,
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
	for (int i = 0; i < ORDER_REASONS; i++)
		if (is_silent(late->run, order->needs[i].call))
			return WALK_NEVER;
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

/* Linear search: a process has few devices. */
static int64_t device_id(const struct walk_call *call)
{
	return call->process << 16 | (call->device & 0xffff);
}

static struct late_device *device_of(struct late *late, const struct walk_call *call)
{
	static char mark;
	struct late_device *device = idmap_need(&late->devices, device_id(call), sizeof(*device));

	if (device && call->stream && !idmap_get(&device->streams, call->stream))
		idmap_put(&device->streams, call->stream, &mark);
	return device;
}

int late_start_process_call(struct late *late, const struct order *order,
	const struct walk_call *call, int64_t legacy_end)
{
	struct late_process *process = process_of(late, call->process);
	struct late_device *device;
	int64_t ready;

	if (!process)
		return -1;
	note_load(late, process, call);
	if (call->kind == KIND_STREAM_DESTROY) {
		device = idmap_get(&late->devices, device_id(call));
		if (device)
			idmap_take(&device->streams, call->stream);
		return 0;
	}
	if (!call->op || call->op_start == WALK_NEVER || call->op_end == WALK_NEVER)
		return 0;
	device = device_of(late, call);
	ready = is_staged(call) ? WALK_NEVER : ready_at(late, order, call, legacy_end);
	if (!device || (ready != WALK_NEVER && explain(late, device, process, call, ready)))
		return -1;
	/* When it ended is not known, so nothing is known to have started then. */
	if (call->end_is_limit)
		return 0;
	device->recent[device->count++ % RECENT] = (struct recent){ .op = call->op,
		.call = call->id,
		.stream = call->stream,
		.start = call->op_start,
		.end = call->op_end };
	if (call->op_end > device->last_end)
		device->last_end = call->op_end;
	return 0;
}
