/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "array.h"
#include "concurrency.h"
#include "constants.h"
#include "polls.h"
#include "replay_parts.h"
#include "stretches.h"
#include "unknown.h"
#include "walk.h"
#include "walk_order.h"

/* A hold by other means than streams and events, by the call that submitted its operation. */
struct held {
	uint32_t call, hold;
};

struct loader {
	struct replays *replays;
	const struct run *run;
	struct db *db;
	struct polls polls;
	struct run_cursor operands, freed; /* sorted by call */
	struct held *held;
	size_t held_count, held_at;
	struct map writes; /* word_key() of words that a kernel may use for more than loads */
	/* Calls that caused holds, by other means than streams and events. */
	struct map via;
	struct map holders; /* calls that blocked those of other threads */
	struct map makers;  /* calls that allocated what others freed by waiting for the device */
	struct map firsts;  /* is_first() */
	struct map execs;   /* executable graph -> the call that made it */
	struct map nodes;   /* ... -> its number of nodes */
	struct map sizes;   /* call that made or destroyed a graph -> the graph's number of nodes */
	struct map captures; /* thread -> the call that began a capture, without work since */
};

/*
 * Returns the number of a row, in order of appearance; REPLAY_NONE for row 0 or when out of memory.
 */
static uint32_t number(struct map *map, int64_t row)
{
	uint64_t next = map->count;

	if (!row)
		return REPLAY_NONE;
	next = map_get(map, (uint64_t)row, next);
	if (next == map->count)
		map_set(map, (uint64_t)row, next);
	return (uint32_t)next;
}

/* Returns 1 if no earlier call of the place had the same address or context; -1: out of memory. */
static int is_first(struct loader *loader, const struct replay *replay,
	const struct replay_step *step, int64_t about)
{
	const uint64_t what[] = { (uint64_t)replay->process, step->site, step->kind,
		(uint64_t)about };
	uint64_t key = map_hash_words(what, sizeof(what) / sizeof(*what));

	if (map_get(&loader->firsts, key, 0))
		return 0;
	map_set(&loader->firsts, key, 1);
	return 1;
}

/* Returns the first freed allocation whose maker is known. */
static const struct run_allocation *freed_by(struct loader *loader, int64_t call)
{
	const struct run_ended *row;

	for (; (row = run_cursor_at(&loader->freed, call)); loader->freed.at++) {
		const struct run_allocation *freed = run_allocation(loader->run, row->what);

		if (freed->created)
			return freed;
	}
	return NULL;
}

static int read_maker(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	const struct run_allocation *freed;
	int64_t about = step->context;
	int rc;

	if (!(step->act & STEP_ONCE))
		return 0;
	freed = freed_by(loader, step->call);
	if (freed) {
		step->maker = replay_step_of(replay, freed->created);
		about = ~freed->address;
	}
	rc = is_first(loader, replay, step, about);
	if (rc > 0)
		step->act |= STEP_FIRST;
	return rc < 0 ? -1 : 0;
}

/* Memory is pinned once, in the copied range, before the first copy that extends it. */
static int read_pinning(struct loader *loader, const struct replay *replay,
	struct replay_step *step)
{
	const struct run_payload *payload =
		run_payload(loader->run, run_call(loader->run, step->call));
	const uint64_t what[] = { (uint64_t)replay->process, ~(uint64_t)payload->pageable };
	int64_t pinned;
	uint64_t key;

	if (!(step->act & STEP_STAGED) || !payload->pageable)
		return 0;
	key = map_hash_words(what, sizeof(what) / sizeof(*what));
	pinned = (int64_t)map_get(&loader->firsts, key, 0);
	if (payload->bytes <= pinned)
		return 0;
	step->pinning = ((payload->bytes - pinned) >> 10) * PINNING_NS_PER_MIB >> 10;
	map_set(&loader->firsts, key, (uint64_t)payload->bytes);
	return 0;
}

/* Returns the time of the surrounding call beyond the call's own. */
static int64_t time_around(const struct run *run, const struct run_call *call, int64_t id,
	int64_t parent)
{
	const struct run_call *around = run_call(run, parent);
	int64_t exit = run_exit(run, call, id);
	int64_t end = around ? run_exit(run, around, parent) : RUN_NEVER;

	if (exit == RUN_NEVER || end == RUN_NEVER)
		return 0;
	return end - around->enter - (exit - call->enter);
}

static void read_around(const struct loader *loader, struct replay_step *step)
{
	const struct run *run = loader->run;
	const struct run_link *link = run_link(run, step->call);
	uint32_t site = run_call(run, link->parent) ? run_link(run, link->parent)->site : 0;
	int64_t around = time_around(run, run_call(run, step->call), step->call, link->parent);

	step->site = site ? site : link->site;
	step->around = (int32_t)(around < AROUND_MAX_NS ? around : AROUND_MAX_NS);
}

/* A loop of queries is a wait that ends with its last query. */
static void read_polls(const struct loader *loader, const struct walk_call *call,
	struct replay_step *step)
{
	int64_t since = polls_since(&loader->polls, call->id);

	if (since == INT64_MIN)
		return;
	step->enter = since;
	step->scope = (uint8_t)scope_requested(call);
	step->act |= STEP_WAITS | STEP_EXPLICIT;
}

/*
 * A capture, with its captured calls, is one step: its end.  If other work of the thread comes
 * between, only the call that ends the capture is a step.
 */
static int read_capture(struct loader *loader, const struct walk_call *call,
	struct replay_step *step)
{
	uint64_t begin = map_get(&loader->captures, (uint64_t)call->thread, 0);

	if (!begin)
		return 0;
	if (call->kind == KIND_CAPTURE_END) {
		step->enter = run_call(loader->run, (int64_t)begin)->enter;
		step->nodes = (uint32_t)map_get(&loader->sizes, begin, 0);
	}
	map_set(&loader->captures, (uint64_t)call->thread, 0);
	return 0;
}

/* Reads the shape of the first of its operations. */
static void read_shape(const struct loader *loader, struct replay_step *step)
{
	const struct run *run = loader->run;
	const struct run_work *last = run_work(run, run_call(run, step->call)->last_work);
	struct shape shape;

	if (!last)
		return;
	shape = shape_of(run, last->next);
	step->device = (int16_t)run_where(run, run_work(run, last->next))->device;
	step->share = (float)shape.part;
	if (shape.kind == 'k')
		step->engine = ENGINE_KERNEL;
	else if (shape.kind == 'c')
		/* CUpti_ActivityMemcpyKind: 1 to the device, 2 from it. */
		step->engine = shape.copy_kind == COPY_H2D ? ENGINE_H2D
			: shape.copy_kind == COPY_D2H      ? ENGINE_D2H
							   : ENGINE_NONE;
}

static uint32_t step_of_work(const struct loader *loader, const struct replay *replay, int64_t op)
{
	const struct run_work *work = run_work(loader->run, op);

	return replay_step_of(replay, work ? work->call : 0);
}

static void read_wait(const struct loader *loader, const struct replay *replay,
	struct replay_step *step)
{
	const struct run_evidence *evidence = &loader->run->evidence;
	const struct run_wait *wait = run_wait_of(evidence, step->call);

	while (wait && wait->kind == WAIT_STAGED)
		wait = run_next_wait(evidence, wait);
	if (!wait)
		return;
	step->act |= STEP_MEASURED;
	if (wait->behind) {
		step->act |= STEP_CAN_BE_HELD;
		return;
	}
	step->waited = wait->waited;
	step->held_for = step_of_work(loader, replay, wait->op);
	if (!(step->act & STEP_WAITS)) {
		step->act |= STEP_WAITS;
		if (step->act & STEP_SUBMITS)
			step->act |= STEP_WAITS_FIRST;
	}
}

static void read_hold(struct loader *loader, const struct replay *replay, struct replay_step *step)
{
	const struct run_hold *hold;

	while (loader->held_at < loader->held_count &&
		loader->held[loader->held_at].call < step->call)
		loader->held_at++;
	if (loader->held_at == loader->held_count ||
		loader->held[loader->held_at].call != step->call)
		return;
	hold = &loader->run->evidence.hold[loader->held[loader->held_at].hold];
	step->behind = step_of_work(loader, replay, hold->behind);
	/* A launch that loads its kernel blocks itself: this step, not added yet. */
	step->behind_via = hold->via == step->call ? (uint32_t)replay->step_count
						   : replay_step_of(replay, hold->via);
}

static uint64_t word_key(uint32_t kernel, uint32_t offset)
{
	return (uint64_t)kernel << 32 | offset;
}

/*
 * Does it only read: as a copy's source, or a kernel's word whose accesses are known and all load?
 */
static int is_read_only(const struct loader *loader, const struct run_operand *operand)
{
	const struct run *run = loader->run;
	uint32_t kernel;

	if (operand->role != OPERAND_WORD)
		return operand->role == OPERAND_SRC;
	kernel = run_payload(run, run_call(run, operand->call))->kernel;
	return run_kernel(run, kernel)->complete &&
		!map_get(&loader->writes, word_key(kernel, operand->offset), 0);
}

static int read_operands(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	const struct run_operand *operand;
	struct replay_operand *more;

	step->operands = (uint32_t)replay->operand_count;
	for (; (operand = run_cursor_at(&loader->operands, step->call)); loader->operands.at++) {
		int64_t allocation = operand->allocation;
		uint64_t address = (uint64_t)operand->address;

		/*
		 * A value passed in a module's variable is no dependency: it could be a kernel
		 * argument, or a variable per stream.
		 */
		if (run_allocation(loader->run, allocation)->kind == ALLOCATION_VARIABLE)
			continue;
		more = array_room(replay->operand, replay->operand_count, sizeof(*more));
		if (!more)
			return -1;
		replay->operand = more;
		more[replay->operand_count++] = (struct replay_operand){
			.exact = number(&replay->memories,
				(int64_t)(((uint64_t)allocation << 44 ^ address) * 2 + 1)),
			.allocation = number(&replay->memories, allocation * 2),
			.reads = is_read_only(loader, operand),
		};
		step->operand_count++;
	}
	return 0;
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

/* Frees the steps of a process that is not replayed. */
static void drop_steps(struct replay *replay)
{
	free(replay->step);
	free(replay->operand);
	replay->step = NULL;
	replay->operand = NULL;
	replay->step_count = replay->operand_count = 0;
}

static void refuse_by_kind(struct replay *replay, const struct walk_call *call)
{
	if (replay->step_count >= REPLAY_MAX_STEPS)
		replay->refusal = "the run is too long to be replayed";
	/* It is unknown what happened between two windows. */
	if (replay->window && replay->window != call->stretch)
		replay->refusal = "parts of the run were recorded";
	replay->window = call->stretch;
	if (kind_has(call->kind, K_OUTSIDE))
		replay->refusal = "streams wait for more than events";
	if (replay->refusal && replay->step)
		drop_steps(replay);
}

static struct replay *replay_of(struct loader *loader, int64_t process)
{
	struct replay *replay = idmap_get(&loader->replays->processes, process);

	if (replay)
		return replay;
	replay = idmap_need(&loader->replays->processes, process, sizeof(*replay));
	if (!replay)
		return NULL;
	*replay = (struct replay){ .process = process,
		.run = loader->run,
		.first = INT64_MAX,
		.last = INT64_MIN,
		.unknown_since = unknown_since(loader->run, process) };
	return replay_refuse(replay, loader->db) ? NULL : replay;
}

static void note_times(struct replay *replay, const struct replay_step *step)
{
	if (step->enter < replay->first)
		replay->first = step->enter;
	if (step->exit > replay->last)
		replay->last = step->exit;
	if (step->act & STEP_HAS_OP && step->end > replay->last)
		replay->last = step->end;
}

static int read_step(void *arg, const struct walk_call *call)
{
	struct loader *loader = arg;
	struct replay *replay = replay_of(loader, call->process);
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
		.handed_by = REPLAY_NONE,
		.handed_step = REPLAY_NONE,
		.maker = REPLAY_NONE,
		.behind = REPLAY_NONE,
		.behind_via = REPLAY_NONE,
		.follows = REPLAY_NONE,
		.bytes = call->bytes,
		.trimmed = (int64_t)map_get(&loader->run->evidence.trimmed, (uint64_t)call->id, 0),
		.device = (int16_t)(call->owner_device >= 0 ? call->owner_device : call->device) };

	if (!replay)
		return -1;
	/* Only some such calls, or none of their operations, are recorded. */
	if (call->stretch == STRETCH_NONE || call->enter >= replay->unknown_since)
		return 0;
	refuse_by_kind(replay, call);
	if (call->result || call->captured || call->exit == WALK_NEVER)
		return 0;
	step.act = replay_acts(call);
	if (map_get(&loader->holders, (uint64_t)call->id, 0))
		step.act |= STEP_HOLDS_OTHERS;
	if (call->op && call->op_start != WALK_NEVER && call->op_end != WALK_NEVER)
		step.act |= STEP_HAS_OP;
	read_wait(loader, replay, &step);
	read_polls(loader, call, &step);
	/* A pageable source is staged: mostly the copy does not wait. */
	if (call_is_async_copy(call->kind) && !(step.act & (STEP_WAITS_OWN | STEP_MEASURED)))
		step.act &= ~(unsigned)STEP_WAITS;
	if (call->kind == KIND_CAPTURE_BEGIN) {
		map_set(&loader->captures, (uint64_t)call->thread, (uint64_t)call->id);
		return 0;
	}
	if (!step.act && !step.trimmed && !replay_is_about_graphs(&step) &&
		!map_get(&loader->via, (uint64_t)call->id, 0) &&
		!map_get(&loader->makers, (uint64_t)call->id, 0))
		return 0;
	note_times(replay, &step);
	if (replay->refusal)
		return 0;
	name_objects(replay, call, &step);
	step.nodes = (uint32_t)map_get(&loader->sizes, (uint64_t)call->id, 0);
	read_around(loader, &step);
	if (step.exec != REPLAY_NONE) {
		step.maker = replay_step_of(replay,
			(int64_t)map_get(&loader->execs, (uint64_t)call->exec, 0));
		step.nodes = (uint32_t)map_get(&loader->nodes, (uint64_t)call->exec, 0);
	}
	if (read_capture(loader, call, &step) || read_maker(loader, replay, &step) ||
		read_pinning(loader, replay, &step))
		return -1;
	read_hold(loader, replay, &step);
	if (step.act & STEP_HAS_OP)
		read_shape(loader, &step);
	if (step.act & STEP_SUBMITS && read_operands(loader, replay, &step))
		return -1;
	return add_step(replay, &step);
}

static int by_call(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->hold > y->hold) - (x->hold < y->hold);
}

/* For holds by other means than streams and events. */
static int add_hold(struct loader *loader, uint32_t number)
{
	const struct run_hold *hold = &loader->run->evidence.hold[number];
	const struct run_work *work = run_work(loader->run, hold->op);
	struct held *more;

	if (hold->reason == HOLD_LEGACY || hold->reason == HOLD_EVENT)
		return 0;
	if (hold->via)
		map_set(&loader->via, hold->via, 1);
	if (!work || !run_work(loader->run, hold->behind))
		return 0;
	more = array_room(loader->held, loader->held_count, sizeof(*more));
	if (!more)
		return -1;
	loader->held = more;
	more[loader->held_count++] = (struct held){ work->call, number };
	return 0;
}

static int read_evidence(struct loader *loader)
{
	const struct run *run = loader->run;
	const struct run_evidence *evidence = &run->evidence;

	for (size_t i = 0; i < evidence->hold_count; i++)
		if (add_hold(loader, (uint32_t)i))
			return -1;
	if (loader->held_count)
		qsort(loader->held, loader->held_count, sizeof(*loader->held), by_call);
	for (size_t i = 1; i < evidence->wait_count; i++)
		if (evidence->wait[i].behind)
			map_set(&loader->holders, evidence->wait[i].behind, 1);
	for (uint32_t id = 1; id < run->allocations.count; id++) {
		const struct run_allocation *allocation = run_allocation(run, id);

		if (allocation->created && run_wait_of(evidence, allocation->freed))
			map_set(&loader->makers, allocation->created, 1);
	}
	return 0;
}

static int read_claims(struct loader *loader)
{
	const struct run_claim *claim = (const struct run_claim *)loader->run->claims.rows;

	for (uint64_t i = 0; i < loader->run->claims.count; i++)
		if (claim[i].direction != CLAIM_LOAD)
			map_set(&loader->writes, word_key(claim[i].kernel, claim[i].offset), 1);
	return 0;
}

/* Reads the number of nodes for calls that make, launch and destroy graphs. */
static int read_graphs(struct loader *loader, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"WITH size (graph, nodes) AS MATERIALIZED"
		" (SELECT graph, count(*) FROM graph_node GROUP BY graph)"
		" SELECT e.id, e.created, e.destroyed, ifnull(nodes, 0)"
		" FROM graph_exec e LEFT JOIN size USING (graph)"
		" UNION ALL SELECT 0, g.created, NULL, nodes"
		" FROM graph g JOIN size ON size.graph = g.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		uint64_t exec = (uint64_t)sqlite3_column_int64(q, 0);
		uint64_t created = (uint64_t)sqlite3_column_int64(q, 1);
		uint64_t destroyed = (uint64_t)sqlite3_column_int64(q, 2);
		uint64_t nodes = (uint64_t)sqlite3_column_int64(q, 3);

		if (exec)
			map_set(&loader->execs, exec, created);
		if (exec)
			map_set(&loader->nodes, exec, nodes);
		if (created)
			map_set(&loader->sizes, created, nodes);
		if (destroyed)
			map_set(&loader->sizes, destroyed, nodes);
	}
	sqlite3_finalize(q);
	return step;
}

static int open_loader(struct loader *loader, struct db *db)
{
	loader->run = db->run;
	loader->db = db;
	loader->operands = (struct run_cursor){ .rows = &db->run->operands };
	loader->freed = (struct run_cursor){ .rows = &db->run->freed };
	return polls_find(&loader->polls, db->run, db) || read_evidence(loader) ||
			read_claims(loader) || read_graphs(loader, db)
		? -1
		: 0;
}

static void close_loader(struct loader *loader)
{
	polls_release(&loader->polls);
	free(loader->held);
	map_release(&loader->writes);
	map_release(&loader->via);
	map_release(&loader->holders);
	map_release(&loader->makers);
	map_release(&loader->firsts);
	map_release(&loader->execs);
	map_release(&loader->nodes);
	map_release(&loader->sizes);
	map_release(&loader->captures);
}

int replay_load(struct replays *replays, struct db *db)
{
	struct loader loader = { .replays = replays };
	int rc = open_loader(&loader, db) || walk(db, read_step, &loader) ? -1 : 0;

	close_loader(&loader);
	return rc;
}
