/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "concurrency.h"
#include "ids.h"
#include "large.h"
#include "memory.h"
#include "polls.h"
#include "replay.h"
#include "stretches.h"
#include "unknown.h"
#include "walk.h"
#include "workers.h"

/* What is known of a call before the steps are read; a mask. */
enum call_mark {
	/* Caused a hold by other means, or allocated what was freed by waiting for the device. */
	CALL_MATTERS = 1 << 0,
	CALL_BLOCKS = 1 << 1, /* blocked those of other threads */
};

struct loader {
	struct savings *savings;
	const struct run *run;
	struct db *db;
	uint8_t *marks;    /* by call: mask of enum call_mark; [0]: no call */
	struct map held;   /* call -> the first hold of its operations, by other means than above */
	struct map writes; /* word_key() of words that a kernel may use for more than loads */
	struct map execs;  /* executable graph -> the call that made it */
	struct map nodes;  /* ... -> its number of nodes */
	struct map sizes;  /* call that made or destroyed a graph -> the graph's number of nodes */
	size_t most;       /* steps of a process */
	int samples;       /* only those of runs that are sampled */
	/* Of a part's own copy: */
	struct run_cursor operands, freed; /* sorted by call */
	struct map firsts;                 /* is_first() */
	struct map captures; /* thread -> the call that began a capture, without work since */
	struct map recorded; /* thread -> what recording its calls since its last step took, ns */
};

static const char too_long[] = "the run is too long to be replayed";

/* --- steps --- */

/* Returns the number of a row, in order of appearance; REPLAY_NONE for row 0. */
static uint32_t number(struct map *map, int64_t row)
{
	return row ? (uint32_t)map_number(map, (uint64_t)row) : REPLAY_NONE;
}

/*
 * Finds what comes first: what made a freed allocation, whether the place had its address, or
 * context, before, and what pinning a copy's memory takes.  Device memory that was not seen being
 * allocated is like the first.
 */
static void read_firsts(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	const struct run_payload *payload =
		run_payload(loader->run, run_call(loader->run, step->call));
	uint64_t freed[] = { (uint64_t)replay->process, step->site, step->kind, step->context };
	const uint64_t pageable[] = { (uint64_t)replay->process, ~(uint64_t)payload->pageable };
	const struct run_ended *row;
	int64_t pinned;
	uint64_t key;
	int is_unseen = kind_family(step->kind) == FAMILY_free;

	if (step->act & STEP_ONCE) {
		for (; (row = run_cursor_at(&loader->freed, step->call)); loader->freed.at++) {
			const struct run_allocation *memory =
				run_allocation(loader->run, row->what);

			if (!memory->created)
				continue;
			step->maker = replay_step_of(replay, memory->created);
			freed[3] = ~(uint64_t)memory->address;
			is_unseen = 0;
			break;
		}
		key = map_hash_words(freed, sizeof(freed) / sizeof(*freed));
		if (is_unseen || !map_get(&loader->firsts, key, 0))
			step->act |= STEP_FIRST;
		map_set(&loader->firsts, key, 1);
	}
	if (!(step->act & STEP_STAGED) || !payload->pageable)
		return;
	/* Memory is pinned once, in the copied range, before the first copy that extends it. */
	key = map_hash_words(pageable, sizeof(pageable) / sizeof(*pageable));
	pinned = (int64_t)map_get(&loader->firsts, key, 0);
	if (payload->bytes <= pinned)
		return;
	step->pinning = ((payload->bytes - pinned) >> 10) * PINNING_NS_PER_MIB >> 10;
	map_set(&loader->firsts, key, (uint64_t)payload->bytes);
}

static uint32_t step_of_work(const struct replay *replay, int64_t op)
{
	const struct run_work *work = run_work(replay->run, op);

	return replay_step_of(replay, work ? work->call : 0);
}

/* Reads the shape of the first of its operations, and what held them on the device. */
static void read_operation(const struct loader *loader, const struct replay *replay,
	struct replay_step *step)
{
	const struct run *run = loader->run;
	uint64_t held = map_get(&loader->held, (uint64_t)step->call, UINT64_MAX);
	const struct run_work *last = run_work(run, run_call(run, step->call)->last_work);
	struct shape shape;

	if (held != UINT64_MAX) {
		const struct run_hold *hold = &run->evidence.hold[held];

		step->behind = step_of_work(replay, hold->behind);
		/* A launch that loads its kernel blocks itself: this step, not added yet. */
		step->behind_via = hold->via == step->call ? (uint32_t)replay->step_count
							   : replay_step_of(replay, hold->via);
	}
	if (!last || !(step->act & STEP_HAS_OP))
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

static uint64_t word_key(uint32_t kernel, uint32_t offset)
{
	return (uint64_t)kernel << 32 | offset;
}

static void read_operands(struct loader *loader, struct replay *replay, struct replay_step *step)
{
	const struct run *run = loader->run;
	const struct run_operand *operand;

	step->operands = (uint32_t)replay->operand_count;
	for (; (operand = run_cursor_at(&loader->operands, step->call)); loader->operands.at++) {
		int64_t allocation = operand->allocation;
		uint64_t exact = (uint64_t)allocation << 44 ^ (uint64_t)operand->address;
		int reads = operand->role == OPERAND_SRC;

		/*
		 * A value passed in a module's variable is no dependency: it could be a kernel
		 * argument, or a variable per stream.
		 */
		if (run_is_variable(run, allocation))
			continue;
		/* A kernel only reads a word if all accesses by it are known, and are loads. */
		if (operand->role == OPERAND_WORD) {
			uint32_t kernel = run_payload(run, run_call(run, operand->call))->kernel;

			reads = run_kernel(run, kernel)->complete &&
				!map_get(&loader->writes, word_key(kernel, operand->offset), 0);
		}
		*array_push(replay->operand, replay->operand_count) = (struct replay_operand){
			.exact = number(&replay->memories, (int64_t)(exact * 2 + 1)),
			.allocation = number(&replay->memories, allocation * 2),
			.reads = reads,
		};
		step->operand_count++;
	}
}

/*
 * Names what the call uses.  A capture, with its captured calls, is one step: its end.  If other
 * work of the thread comes between, only the call that ends the capture is a step.
 */
static void name_objects(struct loader *loader, struct replay *replay, const struct walk_call *call,
	struct replay_step *step)
{
	const struct run *run = loader->run;
	const struct run_link *link = run_link(run, call->id);
	const struct run_call *parent = run_call(run, link->parent);
	uint32_t site = parent ? run_link(run, link->parent)->site : 0;
	int64_t end = parent ? run_exit(run, parent, link->parent) : RUN_NEVER;
	int64_t context = walk_context(call);
	int64_t other = call->dst_context == context ? call->src_context : call->dst_context;
	int64_t apart = call->stream << 32 | (call->thread & UINT32_MAX);
	uint64_t begin = map_get(&loader->captures, (uint64_t)call->thread, 0);

	step->thread = number(&replay->threads, call->thread);
	step->other_thread = number(&replay->threads, call->other_thread);
	step->stream = number(&replay->streams, call->stream);
	step->apart = number(&replay->aparts, call->stream ? apart : 0);
	step->event = number(&replay->events, call->event);
	step->context = number(&replay->contexts, context);
	step->other_context = number(&replay->contexts, other);
	step->nodes = (uint32_t)map_get(&loader->sizes, (uint64_t)call->id, 0);
	step->exec = REPLAY_NONE;
	if (kind_family(call->kind) == FAMILY_graph_launch && call->exec) {
		step->exec = number(&replay->execs, call->exec);
		step->maker = replay_step_of(replay,
			(int64_t)map_get(&loader->execs, (uint64_t)call->exec, 0));
		step->nodes = (uint32_t)map_get(&loader->nodes, (uint64_t)call->exec, 0);
	}
	/* The site is that of the surrounding call, which takes some time beyond this one. */
	step->site = site ? site : link->site;
	if (end != RUN_NEVER)
		step->around = (int32_t)at_most(end - parent->enter - (call->exit - call->enter),
			AROUND_MAX_NS);
	if (begin && call->kind == KIND_CAPTURE_END) {
		step->enter = run_call(run, (int64_t)begin)->enter;
		step->nodes = (uint32_t)map_get(&loader->sizes, begin, 0);
	}
	if (begin)
		map_set(&loader->captures, (uint64_t)call->thread, 0);
}

/*
 * Reads the acts of a call, with those once it is changed, and what it waited for.  Returns 0 if
 * they do not make it a step.
 */
static int read_acts(const struct loader *loader, const struct replay *replay,
	const struct walk_call *call, struct replay_step *step)
{
	const struct run_evidence *evidence = &loader->run->evidence;
	const struct run_wait *wait = run_wait_of(evidence, call->id);
	unsigned marks = loader->marks[call->id], *acts = &step->act;
	int64_t since = polls_since(loader->run, call->id);
	enum kind_family family = kind_family(call->kind);
	enum scope scope = scope_of(call);

	if (call->kind == KIND_EVENT_RECORD)
		*acts = call->event && call->stream ? STEP_RECORDS : 0;
	else if (call->kind == KIND_STREAM_WAIT)
		*acts = call->event && call->stream ? STEP_AWAITS : 0;
	else if (call->kind == KIND_THREAD_CREATE)
		*acts = call->other_thread ? STEP_MAKES_THREAD : 0;
	else if (call->kind == KIND_THREAD_JOIN)
		*acts = call->other_thread ? STEP_JOINS_THREAD : 0;
	else if (family == FAMILY_callback)
		*acts = STEP_SUBMITS | STEP_HOST_WORK;
	else if (family == FAMILY_allocation)
		*acts = STEP_CAN_BE_HELD;
	/* CUPTI has no record of silent operations, but they have a position in a stream. */
	else if (call->kind == KIND_COPY_PEER || kind_has(call->kind, K_SILENT))
		*acts = STEP_SUBMITS;
	else if (call_is_sync(call->kind))
		*acts = STEP_SUBMITS | STEP_BECOMES_ASYNC | STEP_CAN_BE_HELD;
	else if (call->op || walk_submits(call))
		*acts = STEP_SUBMITS | STEP_CAN_BE_HELD;
	if (scope != SCOPE_NONE && !call->freed_async)
		*acts |= STEP_WAITS | (scope_is_explicit(call) ? STEP_EXPLICIT : 0) |
			(scope >= SCOPE_DEVICE ? STEP_HOLDS_OTHERS : 0) |
			(scope_includes_own(call) ? STEP_WAITS_OWN : 0);
	if (call_is_copy(call->kind) &&
		(call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE))
		*acts |= STEP_STAGED;
	*acts |= kind_has(call->kind, K_RESOURCE) ? STEP_ONCE : 0;
	*acts |= marks & CALL_BLOCKS ? STEP_HOLDS_OTHERS : 0;
	if (call->op && call->op_start != WALK_NEVER && call->op_end != WALK_NEVER)
		*acts |= STEP_HAS_OP;
	while (wait && wait->kind == WAIT_STAGED)
		wait = run_next_wait(evidence, wait);
	if (wait)
		*acts |= STEP_MEASURED | (wait->behind ? STEP_CAN_BE_HELD : 0);
	if (wait && !wait->behind) {
		step->waited = wait->waited;
		step->held_for = step_of_work(replay, wait->op);
		if (!(*acts & STEP_WAITS))
			*acts |= STEP_WAITS | (*acts & STEP_SUBMITS ? STEP_WAITS_FIRST : 0);
	}
	/* A loop of queries is a wait that ends with its last query. */
	if (since != INT64_MIN) {
		step->enter = since;
		step->scope = (uint8_t)scope_requested(call);
		*acts |= STEP_WAITS | STEP_EXPLICIT;
	}
	/* A pageable source is staged: mostly the copy does not wait. */
	if (call_is_async_copy(call->kind) && !(*acts & (STEP_WAITS_OWN | STEP_MEASURED)))
		*acts &= ~(unsigned)STEP_WAITS;
	return *acts || step->trimmed || marks & CALL_MATTERS || family == FAMILY_graph ||
		family == FAMILY_exec || family == FAMILY_capture || family == FAMILY_graph_launch;
}

static void add_step(struct loader *loader, struct replay *replay, const struct walk_call *call)
{
	const struct map *trimmed = &loader->run->evidence.trimmed;
	struct replay_step step = { .call = call->id,
		.enter = call->enter,
		.exit = call->exit,
		.start = call->op_start,
		.end = call->op_end,
		.kind = (uint8_t)call->kind,
		.scope = (uint8_t)scope_of(call),
		.stream_kind = (uint8_t)call->stream_kind,
		.handed_by = REPLAY_NONE,
		.accident = REPLAY_NONE,
		.meets = REPLAY_NONE,
		.bytes = call->bytes,
		.trimmed = (int64_t)map_get(trimmed, (uint64_t)call->id, 0),
		.device = (int16_t)(call->owner_device >= 0 ? call->owner_device : call->device) };

	for (int i = 0; i < STEP_LINKS; i++)
		step.links[i] = REPLAY_NONE;
	step.gap_recorded = (int64_t)map_get(&loader->recorded, (uint64_t)call->thread, 0);
	if (!read_acts(loader, replay, call, &step)) {
		step.own = call->exit - call->enter;
		step.exec = REPLAY_NONE;
		replay_learn_recording(&step, 0);
		map_set(&loader->recorded, (uint64_t)call->thread,
			(uint64_t)(step.gap_recorded + step.recorded));
		return;
	}
	if (step.gap_recorded)
		map_set(&loader->recorded, (uint64_t)call->thread, 0);
	if (step.enter < replay->first)
		replay->first = step.enter;
	raise_to(&replay->last, step.exit);
	if (step.act & STEP_HAS_OP)
		raise_to(&replay->last, step.end);
	replay->loop_steps += replay->run_loop && run_loop_has(replay->run_loop, call->enter);
	if (replay->refusal)
		return;
	name_objects(loader, replay, call, &step);
	read_firsts(loader, replay, &step);
	read_operation(loader, replay, &step);
	if (step.act & STEP_SUBMITS)
		read_operands(loader, replay, &step);
	replay->step_of[call->id] = (uint32_t)replay->step_count;
	*array_push(replay->step, replay->step_count) = step;
}

static int read_step(void *arg, const struct walk_call *call)
{
	struct loader *loader = arg;
	struct replay *replay = id_map_get(&loader->savings->processes, call->process);

	/* Only some such calls, or none of their operations, are recorded. */
	if (call->stretch == STRETCH_NONE || call->enter >= replay->unknown_since)
		return 0;
	if (loader->samples && (!replay->samples || replay_is_skipped(replay, call->enter)))
		return 0;
	if (replay->step_count >= loader->most)
		replay->refusal = too_long;
	/* It is unknown what happened between two windows. */
	if (replay->window && replay->window != call->stretch)
		replay->refusal = "parts of the run were recorded";
	replay->window = call->stretch;
	if (kind_has(call->kind, K_OUTSIDE))
		replay->refusal = "streams wait for more than events";
	if (replay->refusal && replay->step) {
		free(replay->step);
		free(replay->operand);
		replay->step = NULL;
		replay->operand = NULL;
		replay->step_count = replay->operand_count = 0;
	}
	if (call->result || call->captured || call->exit == WALK_NEVER)
		return 0;
	if (call->kind == KIND_CAPTURE_BEGIN) {
		map_set(&loader->captures, (uint64_t)call->thread, (uint64_t)call->id);
		return 0;
	}
	add_step(loader, replay, call);
	return 0;
}

/* --- what is known before --- */

static void read_evidence(struct loader *loader)
{
	const struct run *run = loader->run;
	const struct run_evidence *evidence = &run->evidence;
	const struct run_claim *claim = (const struct run_claim *)run->claims.rows;

	for (size_t i = 0; i < evidence->hold_count; i++) {
		const struct run_hold *hold = &evidence->hold[i];
		const struct run_work *work = run_work(run, hold->op);

		if (hold->reason == HOLD_LEGACY || hold->reason == HOLD_EVENT)
			continue;
		loader->marks[hold->via] |= CALL_MATTERS;
		if (work && run_work(run, hold->behind) &&
			map_get(&loader->held, work->call, UINT64_MAX) == UINT64_MAX)
			map_set(&loader->held, work->call, i);
	}
	for (size_t i = 1; i < evidence->wait_count; i++)
		loader->marks[evidence->wait[i].behind] |= CALL_BLOCKS;
	for (uint32_t id = 1; id < run->allocations.count; id++) {
		const struct run_allocation *allocation = run_allocation(run, id);

		if (run_wait_of(evidence, allocation->freed))
			loader->marks[allocation->created] |= CALL_MATTERS;
	}
	for (uint64_t i = 0; i < run->claims.count; i++)
		if (claim[i].direction != CLAIM_LOAD)
			map_set(&loader->writes, word_key(claim[i].kernel, claim[i].offset), 1);
}

/* The number of nodes of graphs, for calls that launch them, and that make and destroy them. */
#define SIZES_SQL \
	"WITH size (graph, nodes) AS MATERIALIZED" \
	" (SELECT graph, count(*) FROM graph_node GROUP BY graph)"
static const char nodes_sql[] =
	SIZES_SQL "SELECT id, nodes FROM graph_exec JOIN size USING (graph)";
static const char sizes_sql[] = SIZES_SQL
	"SELECT e.created, nodes FROM graph_exec e JOIN size USING (graph)"
	" UNION ALL SELECT e.destroyed, nodes FROM graph_exec e"
	" JOIN size USING (graph) WHERE e.destroyed"
	" UNION ALL SELECT g.created, nodes"
	" FROM graph g JOIN size ON size.graph = g.id WHERE g.created";

/* --- processes, each by itself --- */

struct parts {
	const struct loader *loader;
	const struct walk_run *walk;
	struct walk_part *part;
	size_t count;
};

static int read_part(void *arg, size_t number)
{
	const struct parts *parts = arg;
	struct loader loader = *parts->loader;
	int rc;

	loader.operands = (struct run_cursor){ .rows = &loader.run->operands };
	loader.freed = (struct run_cursor){ .rows = &loader.run->freed };
	loader.firsts = loader.captures = loader.recorded = (struct map){ 0 };
	rc = walk_part(parts->walk, &parts->part[number], read_step, &loader);
	map_release(&loader.firsts);
	map_release(&loader.captures);
	map_release(&loader.recorded);
	return rc;
}

/* Reads the steps of all processes with calls, and again those of runs that are sampled. */
static int read_steps(struct loader *loader)
{
	struct id_map *processes = &loader->savings->processes;
	struct walk_run *walk = walk_open(loader->db);
	struct parts parts = { .loader = loader, .walk = walk };
	const struct run *run = loader->run;
	int rc = walk ? 0 : -1;

	for (uint32_t id = 1; id < run_call_end(run) && !rc; id++) {
		const struct run_call *call = run_call(run, id);
		uint32_t process = call ? run_payload(run, call)->process : 0;
		struct replay *replay;

		if (!call || call->kind == KIND_RUNTIME || id_map_get(processes, process))
			continue;
		replay = id_map_need(processes, process, sizeof(*replay));
		*replay = (struct replay){ .process = process,
			.run = run,
			.step_of = loader->savings->step_of,
			.first = INT64_MAX,
			.last = INT64_MIN,
			.unknown_since = unknown_since(run, process),
			.run_loop = run_loop_of(&run->evidence, process),
			.row = { DB_NULL, DB_NULL, DB_NULL, DB_NULL, NAN, { DB_NULL, DB_NULL },
				{ DB_NULL, DB_NULL }, 0 } };
		rc = replay_find_refusal(replay, loader->db);
	}
	if (!rc) {
		parts.count = walk_parts(walk, &parts.part);
		rc = workers_run(parts.count, read_part, &parts);
	}
	for (struct id_map_slot *at = NULL; !rc && (at = id_map_next(processes, at));) {
		struct replay *replay = at->object;

		/* Of a run that is only too long samples are replayed. */
		if (replay->refusal != too_long || !replay_choose_samples(replay))
			continue;
		replay->refusal = NULL;
		loader->samples = 1;
	}
	if (loader->samples && !rc)
		rc = workers_run(parts.count, read_part, &parts);
	walk_close(walk);
	free(parts.part);
	return rc;
}

int replay_load(struct savings *savings, struct db *db)
{
	struct loader loader = { .savings = savings,
		.run = db->run,
		.db = db,
		.marks = large_zeroed(run_call_end(db->run), sizeof(*loader.marks)),
		.most = (size_t)replay_limit("CUFENCE_TEST_REPLAY_STEPS", REPLAY_MAX_STEPS) };
	struct map *maps[] = { &loader.held, &loader.writes, &loader.execs, &loader.nodes,
		&loader.sizes };
	int rc = ids_read(&loader.execs, db, "SELECT id, created FROM graph_exec", 0) ||
			ids_read(&loader.nodes, db, nodes_sql, 0) ||
			ids_read(&loader.sizes, db, sizes_sql, 0)
		? -1
		: 0;

	savings->step_of = large_zeroed(run_call_end(db->run), sizeof(*savings->step_of));
	if (!rc) {
		read_evidence(&loader);
		rc = read_steps(&loader);
	}
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	large_free(loader.marks);
	return rc;
}

/* --- a wait that a fix removes may have ordered two operations: the fix must do it then --- */

static void add_accident(struct replay *replay, int64_t later, int64_t earlier, int64_t via)
{
	struct replay_accident accident = { .earlier = replay_step_of(replay, earlier),
		.via = replay_step_of(replay, via) };
	uint32_t of = replay_step_of(replay, later);

	if (of == REPLAY_NONE || accident.earlier >= of || accident.via == REPLAY_NONE)
		return;
	accident.next = replay->step[of].accident;
	replay->step[of].accident = (uint32_t)replay->accident_count;
	*array_push(replay->accident, replay->accident_count) = accident;
}

/* Table hazard, rule accidental-order; and what waits of the host keep in order. */
int replay_find_accidents(struct replay *replay, struct db *db)
{
	const struct run_evidence *evidence = &db->run->evidence;
	sqlite3_stmt *q = db_prepare(db,
		"SELECT call, other_call, via FROM hazard"
		" WHERE process = ? AND via NOT NULL AND launch IS NULL");
	int rc = q ? 0 : -1;

	if (q)
		sqlite3_bind_int64(q, 1, replay->process);
	while (!rc && (rc = db_step(q)) > 0) {
		add_accident(replay, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			sqlite3_column_int64(q, 2));
		rc = 0;
	}
	sqlite3_finalize(q);
	for (size_t i = 0; i < evidence->fence_count; i++)
		add_accident(replay, evidence->fence[i].later, evidence->fence[i].earlier,
			evidence->fence[i].wait);
	return rc;
}
