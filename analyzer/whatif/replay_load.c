/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"
#include "order_loss.h"
#include "replay_parts.h"
#include "stretches.h"
#include "walk.h"
#include "walk_order.h"

/* Cursors in order of call beside the walk. */

struct loader {
	struct replays *replays;
	struct walk_cursor around, shapes, waits, holds, operands, freed;
	/*
	 * Calls by which table hold says something was held, by other means than streams and
	 * events.
	 */
	struct map via;
	struct map holders; /* calls that held those of other threads */
	struct map makers;  /* calls that made what others freed, waiting for the device */
	struct map firsts;  /* is_first() */
};

/* Numbers from 0 on, in order of appearance; REPLAY_NONE for row 0 or when out of memory. */
static uint32_t number(struct map *map, int64_t row)
{
	uint64_t next = map->count;

	if (!row)
		return REPLAY_NONE;
	next = map_get(map, (uint64_t)row, next);
	if (next == map->count && map_set(map, (uint64_t)row, next))
		return REPLAY_NONE;
	return (uint32_t)next;
}

static unsigned acts_of_work(const struct walk_call *call)
{
	if (kind_family(call->kind) == FAMILY_callback)
		return STEP_SUBMITS | STEP_HOST_WORK;
	/* CUPTI has no record of what these do, and yet they have their place in a stream. */
	if (kind_has(call->kind, K_SILENT))
		return STEP_SUBMITS;
	if (call_is_sync(call->kind))
		return STEP_SUBMITS | STEP_BECOMES_ASYNC | STEP_CAN_BE_HELD;
	return call->op || walk_submits(call) ? STEP_SUBMITS | STEP_CAN_BE_HELD : 0;
}

static unsigned acts_of(const struct walk_call *call)
{
	switch (call->kind) {
	case KIND_EVENT_RECORD:
		return call->event && call->stream ? STEP_RECORDS : 0;
	case KIND_STREAM_WAIT:
		return call->event && call->stream ? STEP_AWAITS : 0;
	case KIND_THREAD_CREATE:
		return call->other_thread ? STEP_MAKES_THREAD : 0;
	case KIND_THREAD_JOIN:
		return call->other_thread ? STEP_JOINS_THREAD : 0;
	case KIND_COPY_PEER:
		return STEP_SUBMITS;
	default:
		return acts_of_work(call);
	}
}

static unsigned waits_of(const struct walk_call *call)
{
	if (scope_of(call) == SCOPE_NONE || call->freed_async)
		return 0;
	return STEP_WAITS | (scope_is_explicit(call) ? STEP_EXPLICIT : 0) |
		(scope_of(call) >= SCOPE_DEVICE ? STEP_HOLDS_OTHERS : 0) |
		(scope_includes_own(call) ? STEP_WAITS_OWN : 0);
}

/* What becomes of it when it is mended. */
static unsigned mends_of(const struct walk_call *call)
{
	int staged = call_is_copy(call->kind) &&
		(call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE);

	return (staged ? STEP_STAGED : 0) | (kind_has(call->kind, K_RESOURCE) ? STEP_ONCE : 0);
}

/* 1: no call of the place was about the same address or context before; -1: out of memory. */
static int is_first(struct loader *loader, const struct replay *replay,
	const struct replay_step *step, int64_t about)
{
	const int64_t what[] = { replay->process, step->site, step->kind, about };
	uint64_t key = map_hash((const char *)what, sizeof(what));

	if (map_get(&loader->firsts, key, 0))
		return 0;
	return map_set(&loader->firsts, key, 1) ? -1 : 1;
}

static int read_maker(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	int64_t about = step->context;
	int rc = step->act & STEP_ONCE ? walk_cursor_at(&loader->freed, step->call) : 0;

	if (rc < 0 || !(step->act & STEP_ONCE))
		return rc;
	if (rc) {
		step->maker = replay_step_of(replay, sqlite3_column_int64(loader->freed.rows, 1));
		about = ~sqlite3_column_int64(loader->freed.rows, 2);
	}
	rc = is_first(loader, replay, step, about);
	if (rc > 0)
		step->act |= STEP_FIRST;
	return rc < 0 ? -1 : 0;
}

static int read_around(struct loader *loader, struct replay_step *step)
{
	sqlite3_stmt *row = loader->around.rows;
	int64_t around;
	int rc = walk_cursor_at(&loader->around, step->call);

	if (rc <= 0)
		return rc;
	step->site = (uint32_t)sqlite3_column_int64(row, 1);
	around = sqlite3_column_int64(row, 2);
	step->around = (int32_t)(around < AROUND_MAX_NS ? around : AROUND_MAX_NS);
	/* A loop of queries is one call: until the last of them. */
	if (sqlite3_column_type(row, 3) != SQLITE_NULL)
		step->exit += sqlite3_column_int64(row, 3) - step->enter;
	return 0;
}

/* By threads and by blocks; registers and shared memory may let in fewer. */
static float kernel_share(uint64_t grid, uint64_t block, int64_t sms, int64_t threads,
	int64_t blocks)
{
	double count = (double)GRID_X(grid) * GRID_Y(grid) * GRID_Z(grid);
	double size = (double)BLOCK_X(block) * BLOCK_Y(block) * BLOCK_Z(block);
	double by_threads, by_blocks;

	if (sms <= 0 || threads <= 0 || blocks <= 0)
		return 0;
	by_threads = count * size / (double)(sms * threads);
	by_blocks = count / (double)(sms * blocks);
	return (float)(by_threads > by_blocks ? by_threads : by_blocks);
}

static int read_shape(struct loader *loader, struct replay_step *step)
{
	sqlite3_stmt *row = loader->shapes.rows;
	int rc = walk_cursor_at(&loader->shapes, step->call);
	const char *kind;

	if (rc <= 0)
		return rc;
	kind = (const char *)sqlite3_column_text(row, 1);
	step->device = (int16_t)sqlite3_column_int(row, 3);
	if (!strcmp(kind, "memcpy")) {
		int64_t copy = sqlite3_column_int64(row, 2);
		/* CUpti_ActivityMemcpyKind: 1 to the device, 2 from it. */
		step->engine = copy == COPY_H2D ? ENGINE_H2D
			: copy == COPY_D2H      ? ENGINE_D2H
						: ENGINE_NONE;
	} else if (!strcmp(kind, "kernel")) {
		step->engine = ENGINE_KERNEL;
		step->share = kernel_share((uint64_t)sqlite3_column_int64(row, 4),
			(uint64_t)sqlite3_column_int64(row, 5), sqlite3_column_int64(row, 6),
			sqlite3_column_int64(row, 7), sqlite3_column_int64(row, 8));
	}
	return 0;
}

static int read_wait(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	sqlite3_stmt *row = loader->waits.rows;
	int rc = walk_cursor_at(&loader->waits, step->call);

	if (rc <= 0)
		return rc;
	step->act |= STEP_MEASURED;
	/* Held by a call of another thread: until that returns. */
	if (sqlite3_column_type(row, 3) != SQLITE_NULL) {
		step->act |= STEP_CAN_BE_HELD;
		step->held_by = replay_step_of(replay, sqlite3_column_int64(row, 3));
		return 0;
	}
	step->waited = sqlite3_column_int64(row, 1);
	step->held_for = replay_step_of(replay, sqlite3_column_int64(row, 2));
	if (!(step->act & STEP_WAITS)) {
		step->act |= STEP_WAITS;
		if (step->act & STEP_SUBMITS)
			step->act |= STEP_WAITS_FIRST;
	}
	return 0;
}

static int read_hold(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	int rc = walk_cursor_at(&loader->holds, step->call);
	int64_t via;

	if (rc <= 0)
		return rc;
	via = sqlite3_column_int64(loader->holds.rows, 2);
	step->behind = replay_step_of(replay, sqlite3_column_int64(loader->holds.rows, 1));
	/* A launch that loads its kernel is held by itself: this step, not added yet. */
	step->behind_via =
		via == step->call ? (uint32_t)replay->step_count : replay_step_of(replay, via);
	return 0;
}

static int read_operands(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	struct replay_operand *more;
	int rc;

	step->operands = (uint32_t)replay->operand_count;
	while ((rc = walk_cursor_at(&loader->operands, step->call)) > 0) {
		int64_t allocation = sqlite3_column_int64(loader->operands.rows, 2);
		uint64_t address = (uint64_t)sqlite3_column_int64(loader->operands.rows, 1);

		more = array_room(replay->operand, replay->operand_count, sizeof(*more));
		if (!more)
			return -1;
		replay->operand = more;
		more[replay->operand_count++] = (struct replay_operand){
			.exact = number(&replay->memories,
				(int64_t)(((uint64_t)allocation << 44 ^ address) * 2 + 1)),
			.allocation = number(&replay->memories, allocation * 2),
			.reads = sqlite3_column_int(loader->operands.rows, 3),
		};
		step->operand_count++;
		if (walk_cursor_step(&loader->operands))
			return -1;
	}
	return rc;
}

static void name_objects(struct replay *replay, const struct walk_call *call,
	struct replay_step *step)
{
	int64_t context = call->stream_context ? call->stream_context : call->context;

	step->thread = number(&replay->threads, call->thread);
	step->other_thread = number(&replay->threads, call->other_thread);
	step->stream = number(&replay->streams, call->stream);
	step->apart = !call->stream
		? REPLAY_NONE
		: number(&replay->aparts, call->stream << 32 | (call->thread & UINT32_MAX));
	step->event = number(&replay->events, call->event);
	step->context = number(&replay->contexts, context);
	step->other_context = number(&replay->contexts,
		call->dst_context == context ? call->src_context : call->dst_context);
	step->exec = number(&replay->execs,
		kind_family(call->kind) == FAMILY_graph_launch ? call->exec : 0);
}

static int add_step(struct replay *replay, const struct replay_step *step)
{
	struct replay_step *more = array_room(replay->step, replay->step_count, sizeof(*more));

	if (!more)
		return -1;
	replay->step = more;
	replay->step[replay->step_count++] = *step;
	return 0;
}

static void refuse_by_kind(struct replay *replay, const struct walk_call *call)
{
	if (replay->step_count >= REPLAY_MAX_STEPS)
		replay->refusal = "the run is too long to be replayed";
	/* What calls outside of windows waited for is not known. */
	if (call->stretch == STRETCH_NONE)
		replay->refusal = "only a part of the run was recorded";
	if (kind_has(call->kind, K_OUTSIDE))
		replay->refusal = "streams wait for more than events";
}

static int read_step(void *arg, const struct walk_call *call)
{
	struct loader *loader = arg;
	struct replay *replay =
		idmap_need(&loader->replays->processes, call->process, sizeof(*replay));
	struct replay_step step = { .call = call->id,
		.enter = call->enter,
		.exit = call->exit,
		.start = call->op_start,
		.end = call->op_end,
		.kind = (uint8_t)call->kind,
		.scope = (uint8_t)scope_of(call),
		.stream_kind = (uint8_t)call->stream_kind,
		.held_for = REPLAY_NONE,
		.held_by = REPLAY_NONE,
		.maker = REPLAY_NONE,
		.behind = REPLAY_NONE,
		.behind_via = REPLAY_NONE,
		.follows = REPLAY_NONE,
		.bytes = call->bytes,
		.device = (int16_t)call->device };

	if (!replay)
		return -1;
	replay->process = call->process;
	refuse_by_kind(replay, call);
	if (call->result || call->captured || call->exit == WALK_NEVER || replay->refusal)
		return 0;
	step.act = acts_of(call) | waits_of(call) | mends_of(call);
	if (map_get(&loader->holders, (uint64_t)call->id, 0))
		step.act |= STEP_HOLDS_OTHERS;
	if (call->op && call->op_start != WALK_NEVER && call->op_end != WALK_NEVER)
		step.act |= STEP_HAS_OP;
	if (call->owner_device >= 0)
		step.device = (int16_t)call->owner_device;
	if (read_wait(loader, replay, &step))
		return -1;
	/* A pageable source is staged: mostly that copy does not wait. */
	if (call_is_async_copy(call->kind) && !(step.act & (STEP_WAITS_OWN | STEP_MEASURED)))
		step.act &= ~(unsigned)STEP_WAITS;
	if (!step.act && !map_get(&loader->via, (uint64_t)call->id, 0) &&
		!map_get(&loader->makers, (uint64_t)call->id, 0))
		return 0;
	name_objects(replay, call, &step);
	if (read_around(loader, &step) || read_maker(loader, replay, &step) ||
		read_hold(loader, replay, &step) ||
		(step.act & STEP_HAS_OP && read_shape(loader, &step)) ||
		(step.act & STEP_SUBMITS && read_operands(loader, replay, &step)))
		return -1;
	return add_step(replay, &step);
}

/* A copy's source; a word of a kernel of which all accesses are known, and load. */
static const char operands_sql[] =
	"SELECT o.call, o.address, o.allocation, o.role = 'src' OR (o.role = 'word' "
	"AND EXISTS (SELECT 1 FROM kernel_code k WHERE k.kernel = c.kernel AND k.complete) "
	"AND NOT EXISTS (SELECT 1 FROM kernel_access a WHERE a.kernel = c.kernel "
	" AND a.offset = o.offset AND a.direction <> 'load')) "
	"FROM operand o CROSS JOIN call c ON c.id = o.call ORDER BY o.call";

static int open_cursors(struct loader *loader, struct db *db)
{
	return walk_cursor_open(&loader->around, db,
		       "SELECT c.id, coalesce(p.site, c.site, 0), "
		       "ifnull(p.exit - p.enter - (c.exit - c.enter), 0), g.last "
		       "FROM call c LEFT JOIN call p ON p.id = c.parent "
		       "LEFT JOIN polling g ON g.call = c.id ORDER BY c.id") ||
		walk_cursor_open(&loader->shapes, db,
			"SELECT o.call, o.kind, o.copy_kind, o.device, c.grid, c.block, "
			"d.sm_count, "
			"d.threads_per_sm, d.blocks_per_sm FROM work o "
			"JOIN call c ON c.id = o.call LEFT JOIN device d ON d.process = o.process "
			"AND d.ordinal = o.device ORDER BY o.call, o.id") ||
		walk_cursor_open(&loader->waits, db,
			"SELECT w.call, w.waited, o.call, w.behind FROM wait w "
			"LEFT JOIN work o ON o.id = w.op "
			"WHERE w.kind != 'staged' ORDER BY w.call") ||
		walk_cursor_open(&loader->holds, db,
			"SELECT o.call, b.call, h.via FROM hold h JOIN work o ON o.id = h.op "
			"JOIN work b ON b.id = h.behind WHERE h.reason NOT IN ('legacy', "
			"'event') "
			"ORDER BY o.call") ||
		walk_cursor_open(&loader->operands, db, operands_sql) ||
		walk_cursor_open(&loader->freed, db,
			"SELECT freed, created, address FROM "
			"allocation "
			"WHERE freed NOT NULL AND created NOT NULL ORDER BY freed");
}

static int read_set(struct map *set, struct db *db, const char *sql)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int rc = -1;

	while (q && (rc = db_step(q)) > 0)
		if (map_set(set, (uint64_t)sqlite3_column_int64(q, 0), 1))
			break;
	sqlite3_finalize(q);
	return rc ? -1 : 0;
}

static int read_sets(struct loader *loader, struct db *db)
{
	return read_set(&loader->via, db,
		       "SELECT via FROM hold WHERE reason NOT IN ('legacy', 'event')") ||
		read_set(&loader->holders, db, "SELECT behind FROM wait WHERE behind NOT NULL") ||
		read_set(&loader->makers, db,
			"SELECT created FROM allocation "
			"WHERE freed IN (SELECT call FROM wait) AND created NOT NULL");
}

/* What a large copy from or to pinned memory takes at least: PCIe 5 from Hopper on, 4 before. */
static double bus_of(int compute_major)
{
	int ns = compute_major >= 9  ? BUS_NS_HOPPER
		: compute_major == 8 ? BUS_NS_AMPERE
				     : BUS_NS_BEFORE;

	return ns / 1000.0;
}

static int read_machines(struct replays *replays, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT p.id, p.clock = 'virtual', "
		"coalesce(max(d.compute_major), 0) FROM process p "
		"LEFT JOIN device d ON d.process = p.id GROUP BY p.id");
	int rc = q ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		struct replay *replay = idmap_get(&replays->processes, sqlite3_column_int64(q, 0));

		rc = 0;
		if (!replay)
			continue;
		replay->recording = sqlite3_column_int(q, 1) ? 0 : RECORDING_NS;
		replay->bus_ns_per_byte = bus_of(sqlite3_column_int(q, 2));
	}
	sqlite3_finalize(q);
	return rc;
}

int replay_load(struct replays *replays, struct db *db)
{
	struct loader loader = { .replays = replays };
	int rc = -1;

	if (!open_cursors(&loader, db) && !read_sets(&loader, db))
		rc = walk(db, read_step, &loader);
	if (!rc)
		rc = read_machines(replays, db);
	walk_cursor_close(&loader.around);
	walk_cursor_close(&loader.shapes);
	walk_cursor_close(&loader.waits);
	walk_cursor_close(&loader.holds);
	walk_cursor_close(&loader.operands);
	walk_cursor_close(&loader.freed);
	map_release(&loader.via);
	map_release(&loader.holders);
	map_release(&loader.makers);
	map_release(&loader.firsts);
	return rc;
}

/* A reason, and the processes (?1) for which it holds. */
static const struct {
	const char *reason, *sql;
} refusals[] = {
	{ "no operation of the device was recorded",
		"SELECT NOT EXISTS (SELECT 1 FROM work WHERE process = ?1)" },
	{ "a part of the run was not recorded",
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason IN "
		"('dropped_records', 'cut', 'dropped_device', 'bypassed_calls', 'size_reached'))" },
	{ "its order could not be followed to the end",
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason = "
		"'" ORDER_LOSS "')" },
	/* NCCL's and NVSHMEM's kernels wait for those of other devices, and last as long. */
	{ "kernels wait for other devices",
		"SELECT EXISTS (SELECT 1 FROM kernel WHERE process = ?1 AND "
		"(name LIKE 'nccl%' OR name LIKE '%nvshmem%'))" },
	{ "several processes used the device at the same time",
		"WITH used AS (SELECT process, device, min(start) AS first, max(end) AS last "
		" FROM work WHERE (SELECT count(*) FROM process) > 1 GROUP BY 1, 2) "
		"SELECT EXISTS (SELECT 1 FROM used a JOIN used b ON b.device = a.device "
		" AND b.process <> a.process AND b.first < a.last AND a.first < b.last "
		" WHERE a.process = ?1)" },
};

int replay_refuse(struct replays *replays, struct db *db)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals) && !rc; i++) {
		sqlite3_stmt *q = db_prepare(db, refusals[i].sql);

		rc = q ? 0 : -1;
		for (size_t j = 0; j < replays->processes.size && !rc; j++) {
			struct replay *replay = replays->processes.slot[j].object;

			if (!replay || replay->refusal)
				continue;
			rc = db_bind(q, "i", replay->process) || db_step(q) < 0 ? -1 : 0;
			if (!rc && sqlite3_column_int(q, 0))
				replay->refusal = refusals[i].reason;
		}
		sqlite3_finalize(q);
	}
	return rc;
}
