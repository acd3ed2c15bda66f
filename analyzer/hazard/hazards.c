/* SPDX-License-Identifier: Apache-2.0 */
#include "hazards_internal.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "ids.h"
#include "memory.h"
#include "record.h"
#include "rows.h"

/* Number of recent hazards in which another use of the same memory is looked for. */
#define SETTLED_LOOKS 256

static const char *const rules_of_hazards[] = { [MISSING_FENCE] = "missing-fence",
	[ACCIDENTAL_ORDER] = "accidental-order",
	[HOST_BUFFER] = "host-buffer-reuse",
	[ASYNC_ALLOC] = "async-alloc-order",
	[EARLY_HOST_READ] = "early-host-read",
	[EARLY_HOST_WRITE] = "early-host-write" };
static const char
	*const orders[] = { [ACCESS_RAW] = "raw", [ACCESS_WAR] = "war", [ACCESS_WAW] = "waw" };

struct hazards *hazards_new(struct db *db, const struct walk_part *part)
{
	struct hazards *hazards = xcalloc(1, sizeof(*hazards));

	hazards->db = db;
	hazards->run = db->run;
	hazards->made.rows = &db->run->allocated;
	hazards->freed.rows = &db->run->freed;
	hazards->edges = db_prepare(db,
		"SELECT from_node, to_node, programmatic FROM graph_edge WHERE graph = ?1 "
		"AND added < ?2 AND ifnull(removed, ?2) >= ?2");
	hazards->has_ports =
		db_int(db, "SELECT EXISTS (SELECT 1 FROM graph_edge WHERE programmatic)", 1) != 0;
	if (hazards->edges && !operations_init(&hazards->operations, db, part) &&
		!ids_read(&hazards->scripted, db, "SELECT DISTINCT process FROM code", 1) &&
		!callers_init(&hazards->callers, db, db->run) &&
		(hazards->others = access_open(db)))
		return hazards;
	hazards_free(hazards);
	return NULL;
}

int hazards_look_ahead(struct hazards *hazards, const struct walk_part *part)
{
	hazards_find_touches(hazards, part);
	return usage_find(&hazards->usage, hazards->run, part);
}

void hazards_free(struct hazards *hazards)
{
	if (!hazards)
		return;
	operations_release(&hazards->operations);
	usage_release(&hazards->usage);
	fences_release(&hazards->fences);
	fences_release(&hazards->captured);
	dependents_release(&hazards->dependents);
	id_map_release(&hazards->graphs, free);
	hazards_release_graph_memory(hazards);
	map_release(&hazards->earlier);
	map_release(&hazards->pairs);
	map_release(&hazards->last_functions);
	incidents_release(&hazards->incidents);
	loads_release(&hazards->loads);
	reuse_release(&hazards->reuse);
	map_release(&hazards->forgotten);
	map_release(&hazards->skipped);
	map_release(&hazards->skipped_execs);
	map_release(&hazards->left_out);
	map_release(&hazards->scripted);
	map_release(&hazards->outside);
	free(hazards->uses);
	map_release(&hazards->functions);
	callers_release(&hazards->callers);
	access_close(hazards->others);
	sqlite3_finalize(hazards->edges);
	free(hazards->hazard);
	free(hazards);
}

/* --- one pair --- */

static enum confidence at_most(enum confidence confidence, enum confidence most)
{
	return confidence < most ? confidence : most;
}

/* Only a kernel's access: what a copy or a memset writes is known not to be a flag. */
static int is_flag(const struct memory_access *access)
{
	return !access->stride_count && access->run <= HAZARD_FLAG_BYTES &&
		access->evidence <= EVIDENCE_PTX;
}

static int are_memsets(const struct operation_point *one, const struct operation_point *other)
{
	return kind_family(one->kind) == FAMILY_set && kind_family(other->kind) == FAMILY_set;
}

/* Both may write the same value: a flag that several kernels set, or memsets of unknown values. */
static int may_write_the_same(const struct past_access *past, const struct memory_access *access,
	const struct hazards *hazards)
{
	if (are_memsets(&past->by, &hazards->now))
		return !past->by.fill || !hazards->now.fill;
	return is_flag(&past->access) && is_flag(access);
}

/* The result does not depend on which comes last. */
static int write_the_same(const struct operation_point *one, const struct operation_point *other)
{
	return are_memsets(one, other) && one->fill && one->fill == other->fill;
}

static int ran_at_once(const struct operation_point *earlier, const struct operation_point *later)
{
	return earlier->end != WALK_NEVER && later->start != WALK_NEVER &&
		later->start < earlier->end;
}

/*
 * Did the earlier operation's own thread let the later one's stream use the memory since, with
 * nothing that orders it?  Nobody has signalled the other thread, then, which goes on with what was
 * begun: PyTorch's backward pass, in a thread of its own.
 */
static int was_used_before(const struct hazards *hazards, const struct operation_point *earlier,
	const struct operation_point *later)
{
	size_t looks = hazards->count < SETTLED_LOOKS ? hazards->count : SETTLED_LOOKS;

	for (size_t i = hazards->count; i-- > hazards->count - looks;) {
		const struct hazard *other = &hazards->hazard[i];

		if (other->later.call <= earlier->call)
			break;
		if (other->rule == MISSING_FENCE && other->later.stream == later->stream &&
			other->later.thread == earlier->thread &&
			is_same_operation(&other->earlier, earlier))
			return 1;
	}
	return 0;
}

/*
 * If the earlier operation ended before the later one was submitted, means that are not recorded
 * may order them.  Threads may signal each other.  After a synchronous upload has returned, only
 * its last piece is pending, and no other work delays that piece.
 */
static int is_settled(const struct hazards *hazards, const struct operation_point *earlier,
	const struct operation_point *later)
{
	return (earlier->upload && earlier->returns_early) ||
		(earlier->thread != later->thread && !was_used_before(hazards, earlier, later));
}

/* Returns the confidence that the two accesses allow, whatever orders their operations. */
static enum confidence confidence_of(const struct hazards *hazards, const struct past_access *past,
	const struct memory_access *access, const struct access_conflict *conflict)
{
	const struct operation_point *earlier = &past->by, *later = &hazards->now;
	enum confidence confidence = CONFIDENCE_POSSIBLE;

	if (conflict->evidence == EVIDENCE_NONE || past->access.maybe || access->maybe)
		return CONFIDENCE_POSSIBLE;
	if (conflict->overlap == OVERLAP_SURE)
		confidence = CONFIDENCE_CERTAIN;
	else if (conflict->covered)
		confidence = CONFIDENCE_LIKELY;
	if (conflict->evidence < EVIDENCE_PTX)
		confidence = at_most(confidence, CONFIDENCE_LIKELY);
	if (conflict->order == ACCESS_WAW && may_write_the_same(past, access, hazards))
		return CONFIDENCE_POSSIBLE;
	/*
	 * An upload may be running when its call returns: 194 of 200 reads were too early, at 1
	 * MiB.
	 */
	if (earlier->upload && !ran_at_once(earlier, later))
		confidence = at_most(confidence,
			earlier->upload <= HAZARD_SMALL_UPLOAD ? CONFIDENCE_POSSIBLE
							       : CONFIDENCE_LIKELY);
	if ((earlier->end == WALK_NEVER || later->enter >= earlier->end) &&
		is_settled(hazards, earlier, later))
		return CONFIDENCE_POSSIBLE;
	return confidence;
}

struct judging {
	struct hazards *hazards;
	const struct shared *shared;
	const struct memory_access *access;
};

static int is_transfer(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_copy;
}

static enum hazard_rule rule_of(const struct judging *judging, const struct past_access *past,
	enum order_strength strength)
{
	const struct operation_point *now = &judging->hazards->now;

	if (past->by.is_life || now->is_life)
		return ASYNC_ALLOC;
	if (strength == ORDER_INCIDENTAL && !past->by.upload)
		return ACCIDENTAL_ORDER;
	if (!judging->shared->on_host || !(is_transfer(past->by.kind) || is_transfer(now->kind)))
		return MISSING_FENCE;
	return HOST_BUFFER;
}

/* The order is known only in part: for a node of a graph that contains event nodes. */
static int is_vague(const struct hazards *hazards, const struct past_access *past,
	const struct memory_access *access)
{
	return (hazards->now.acts && !access->node) ||
		(past->by.acts &&
			(!past->access.node ||
				!order_acts_in_graph(hazards->order, past->by.exec)));
}

/* The kernel may begin before the end of an earlier one and does not wait for it. */
static int is_early(const struct hazards *hazards, const struct operation_point *earlier,
	const struct operation_point *later, const struct memory_access *access)
{
	return later->overlaps && earlier->stream == later->stream &&
		dependents_overlap(&hazards->dependents, later->stream, earlier->call, later->call,
			access->early);
}

static enum order_strength order_in_streams(struct hazards *hazards, const struct past_access *past,
	const struct memory_access *access)
{
	enum order_strength strength;

	hazards->launched_early = 0;
	/* The common case. */
	if (!past->by.acts && !hazards->now.acts &&
		order_reaches(&hazards->reaches, hazards->order, &past->by.epoch))
		return ORDER_GUARANTEED;
	strength = order_before_node(hazards->order, past->by.epoch,
		past->by.acts ? past->by.exec : 0, past->by.acts ? past->access.node : 0,
		hazards->now.acts ? access->node : 0);
	hazards->launched_early =
		strength == ORDER_UNKNOWN && is_early(hazards, &past->by, &hazards->now, access);
	if (hazards->launched_early)
		return ORDER_UNORDERED;
	return strength < ORDER_UNKNOWN && is_vague(hazards, past, access) ? ORDER_UNKNOWN
									   : strength;
}

/*
 * A read out of stream order is ordered only after work that the host had observed complete at the
 * call.
 */
static enum order_strength order_of_streams(void *arg, const struct past_access *past,
	const struct memory_access *access)
{
	struct hazards *hazards = arg;
	enum order_strength strength = order_in_streams(hazards, past, access);

	hazards->read_early = 0;
	if (!access->loose || strength != ORDER_GUARANTEED)
		return strength;
	strength = order_known(hazards->order, hazards->now.thread, past->by.epoch);
	hazards->read_early = strength == ORDER_UNORDERED;
	return strength;
}

/*
 * A host function after the earlier operation reported its end to the host before this call: then
 * the order need not be accidental.
 */
static int host_function_ran(const struct hazards *hazards, const struct operation_point *earlier)
{
	return !hazards->launch && earlier->end != WALK_NEVER &&
		earlier->end <= hazards->now.enter &&
		map_get(&hazards->last_functions, (uint64_t)earlier->stream, 0) >
		(uint64_t)earlier->enter;
}

/*
 * If code was loaded for a first use between the two, that kept them in order.  Where the start of
 * the later one is unknown, the load must have returned after the earlier one had ended.
 */
static void find_load(const struct hazards *hazards, struct hazard *hazard)
{
	const struct operation_point *earlier = &hazard->earlier, *later = &hazard->later;
	const struct run *run = hazards->run;
	struct code_load work = { earlier->call, hazard->process, earlier->enter, earlier->end,
		run_context(run, run_stream(run, earlier->stream)->context)->device };
	const struct code_load *load = loads_after(&hazards->loads, &work);

	if (!load || earlier->end == WALK_NEVER ||
		earlier->end > (later->start == WALK_NEVER ? load->exit : later->start))
		return;
	hazard->via = load->call;
	hazard->confidence = at_most(hazard->confidence,
		loads_time_apart(&hazards->loads, &work, later->enter) > HAZARD_APART_NS
			? CONFIDENCE_POSSIBLE
			: CONFIDENCE_LIKELY);
}

static int judge(void *arg, const struct past_access *past, const struct access_conflict *conflict,
	enum order_strength strength)
{
	const struct judging *judging = arg;
	struct hazards *hazards = judging->hazards;
	const struct memory_access *access = judging->access;
	struct hazard hazard = { .process = hazards->process,
		.allocation = access->allocation,
		.low = access->low > past->access.low ? access->low : past->access.low,
		.high = access->high < past->access.high ? access->high : past->access.high,
		.earlier = past->by,
		.later = hazards->now,
		.evidence = { (enum evidence)access->evidence,
			(enum evidence)past->access.evidence },
		.same_bytes = conflict->same_bytes &&
			!(conflict->order == ACCESS_WAW &&
				may_write_the_same(past, access, hazards)),
		.launch = hazards->launch,
		.count = hazards->launch ? 0 : 1,
		.order = conflict->order,
		.confidence = CONFIDENCE_POSSIBLE };
	int reused;

	hazards->judged++;
	if (write_the_same(&past->by, &hazards->now))
		return 0;
	reused = hazards_reuses(hazards, past, access);
	if (reused > 0)
		history_end(&judging->shared->history, past);
	if (reused)
		return reused < 0 ? -1 : 0;
	if (strength == ORDER_INCIDENTAL && host_function_ran(hazards, &past->by))
		strength = ORDER_ASSUMED;
	hazard.rule = rule_of(judging, past, strength);
	if (hazard.rule == ACCIDENTAL_ORDER) {
		hazard.via = incidents_find(&hazards->incidents, hazards->process, &past->by.epoch);
		/* The pool reused memory after its free: the driver orders that. */
		if (!hazard.via)
			return 0;
	}
	if (strength != ORDER_ASSUMED && !past->by.maybe && !hazards->now.maybe)
		hazard.confidence = confidence_of(hazards, past, access, conflict);
	if (strength == ORDER_UNORDERED && !hazards->launch)
		find_load(hazards, &hazard);
	if (hazard.confidence > CONFIDENCE_POSSIBLE) {
		int doubt = hazards_doubt(hazards, &past->by, access->allocation);

		if (doubt < 0)
			return -1;
		if (doubt)
			hazard.confidence = CONFIDENCE_POSSIBLE;
	}
	hazard.fence = hazards_explain(hazards, judging->shared, &hazard);
	hazards_add(hazards, &hazard);
	return 1;
}

int hazards_judge(struct hazards *hazards, const struct shared *shared,
	const struct memory_access *access)
{
	struct judging judging = { hazards, shared, access };

	return history_check(&shared->history, &hazards->ordering, access, &hazards->now, judge,
		&judging);
}

/* --- one call --- */

static int64_t upload_of(const struct walk_call *call)
{
	return is_transfer(call->kind) && call->src == MEMORY_PAGEABLE &&
			call->direction != COPY_D2H
		? call->bytes
		: 0;
}

/*
 * "For transfers from pageable host memory to device memory ... the function will return once the
 * pageable buffer has been copied to the staging memory"; "for transfers from device memory to
 * device memory, no host-side synchronization is performed" (CUDA runtime API, "API synchronization
 * behavior").  This includes calls without Async in their name.
 */
static int returns_early(const struct walk_call *call)
{
	return is_transfer(call->kind) && kind_has(call->kind, K_DEFAULT_STREAM) &&
		(call->direction == COPY_D2D || upload_of(call) > HAZARD_SMALL_UPLOAD);
}

static struct operation_point point_of(const struct hazards *hazards, const struct order *order,
	const struct walk_call *call)
{
	return (struct operation_point){ .call = call->id,
		.stream = call->stream,
		.lane = call->stream,
		.thread = call->thread,
		.enter = call->enter,
		.start = call->op_start,
		.end = call->end_is_limit ? WALK_NEVER : call->op_end,
		.epoch = order->epoch,
		.kind = call->kind,
		.stretch = call->stretch,
		.upload = upload_of(call),
		.returns_early = returns_early(call),
		.fill = call->fill,
		.overlaps = order->overlaps,
		.exec = order->exec,
		.outside = (uint8_t)(map_get(&hazards->outside, (uint64_t)call->stream, 0) != 0),
		.acts = order_acts_in_graph(order, order->exec) };
}

int hazards_check_access(struct hazards *hazards, const struct memory_access *access)
{
	const struct shared *shared;

	if (!usage_is_shared(&hazards->usage, access->allocation) ||
		access->direction == ACCESS_UNKNOWN)
		return 0;
	shared = id_map_get(&hazards->usage.shared, access->allocation);
	hazards_watch(hazards, access->allocation);
	return shared ? hazards_judge(hazards, shared, access) : 0;
}

int hazards_forget(struct hazards *hazards, int count)
{
	uint64_t process = (uint64_t)hazards->process;

	if (count <= 0)
		return count;
	map_add(&hazards->forgotten, process, (uint64_t)count);
	return 0;
}

int hazards_remember(struct hazards *hazards, struct shared *shared,
	const struct memory_access *access)
{
	return hazards_forget(hazards,
		history_add(&shared->history, &hazards->ordering, access, &hazards->now));
}

struct sweeping {
	const struct hazards *hazards;
	const struct users *users;
};

static int is_over(void *arg, const struct past_access *past)
{
	const struct sweeping *sweeping = arg;
	const struct hazards *hazards = sweeping->hazards;

	return users_follow(sweeping->users, hazards->order, hazards->process, hazards->now.call,
		&past->by);
}

int hazards_add_access(struct hazards *hazards, const struct memory_access *access)
{
	struct sweeping sweeping = { .hazards = hazards };
	struct shared *shared;

	if (!usage_is_shared(&hazards->usage, access->allocation) ||
		access->direction == ACCESS_UNKNOWN)
		return 0;
	shared = usage_need(&hazards->usage, &hazards->usage.shared, access->allocation);
	sweeping.users = shared->users;
	users_note(shared->users, &hazards->now);
	if (shared->history.count >= shared->history.sweep_at)
		history_sweep(&shared->history, is_over, &sweeping);
	return users_are_gone(shared->users, &hazards->now)
		? 0
		: hazards_remember(hazards, shared, access);
}

static int judge_operation(struct hazards *hazards, const struct walk_call *call)
{
	const struct accesses *accesses;
	struct graph_content content;

	if (operations_read(&hazards->operations, call, &hazards->usage, &accesses) ||
		hazards_begin_graph_memory(hazards, call))
		return -1;
	hazards->accesses = accesses;
	if (accesses)
		hazards->now.place = hazards_place(hazards->run, call->id);
	if (accesses)
		hazards->now.spins = (uint8_t)hazards_spins(accesses->access, accesses->count);
	for (size_t i = 0; accesses && i < accesses->count; i++)
		if (hazards_check_access(hazards, &accesses->access[i]))
			return -1;
	for (size_t i = 0; accesses && i < accesses->count; i++)
		if (hazards_add_access(hazards, &accesses->access[i]))
			return -1;
	if (hazards->operations.graph_is_left_out)
		map_add(&hazards->left_out, (uint64_t)hazards->process, 1);
	if (operations_graph(&hazards->operations, &content)) {
		hazards_keep_rows(hazards, 0);
		if (hazards_check_graph(hazards, &content, call))
			return -1;
	}
	if (kind_family(call->kind) == FAMILY_graph_launch)
		hazards_count_graph(hazards, hazards->operations.graph);
	return 0;
}

int hazards_process_call(struct hazards *hazards, struct order *order, const struct walk_call *call)
{
	if (fences_process_call(call->captured ? &hazards->captured : &hazards->fences, order,
		    call))
		return -1;
	if (call->kind == KIND_STREAM_WAIT && !call->captured)
		hazards_find_late(hazards, call);
	if (kind_has(call->kind, K_TELLS_HOST) && !call->captured)
		map_set(&hazards->last_functions, (uint64_t)call->stream, (uint64_t)call->enter);
	hazards_note_outside(hazards, call);
	incidents_process_call(&hazards->incidents, order, call);
	loads_process_call(&hazards->loads, hazards->run, call);
	if (reuse_process_call(&hazards->reuse, order, call))
		return -1;
	hazards->order = order;
	order_reaches_begin(&hazards->reaches);
	hazards->process = call->process;
	hazards->now = point_of(hazards, order, call);
	hazards->ordering = (struct ordering){ order_of_streams, hazards };
	hazards->accesses = NULL;
	hazards->first = hazards->count;
	if (order->epoch.seq &&
		hazards_forget(hazards,
			dependents_process_call(&hazards->dependents, hazards->run, call)))
		return -1;
	if (order->epoch.seq && judge_operation(hazards, call))
		return -1;
	if (hazards_process_touch(hazards, call) ||
		hazards_process_lives(hazards, call, order->epoch.seq != 0))
		return -1;
	hazards_keep_rows(hazards, 0);
	return 0;
}

int hazards_finish(struct hazards *hazards)
{
	struct rows *rows = rows_open(hazards->db, TABLE_hazard);
	int rc = rows ? 0 : -1;

	for (size_t i = 0; i < hazards->count && !rc; i++) {
		struct hazard *hazard = &hazards->hazard[i];
		const struct operation_point *earlier = &hazard->earlier, *later = &hazard->later;
		int timed = earlier->end != WALK_NEVER && later->start != WALK_NEVER;
		const char *rule = rules_of_hazards[hazard->rule];

		fences_settle(&hazards->fences, hazards->run, &hazard->fence);
		map_set(&hazards->db->run->evidence.hazard_rules, map_hash(rule, strlen(rule)), 1);
		rc = rows_add(rows,
			ROW(hazard, DB_NULL, hazard->process, cell_text(rule),
				cell_text(orders[hazard->order]),
				cell_text(confidence_names[hazard->confidence]), later->call,
				earlier->call, hazard->allocation, hazard->low, hazard->high,
				timed ? later->start - earlier->end : DB_NULL,
				cell_text(mistakes[hazard->fence.why].id), cell_id(hazard->launch),
				hazard->count * (1 + hazard->more), cell_id(hazard->via),
				cell_text(evidence_names[hazard->evidence[0]]),
				cell_text(evidence_names[hazard->evidence[1]]), hazard->same_bytes,
				cell_id(hazard->fence.wait), cell_id(hazard->fence.record)));
	}
	rc = rc || rows_finish(rows) ? -1 : 0;
	rows_free(rows);
	return rc;
}

static int store_loss(struct hazards *hazards, const struct map *counts, const char *reason)
{
	sqlite3_stmt *q = db_prepare(hazards->db, "SELECT id FROM process");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, 0);
		uint64_t count = map_get(counts, (uint64_t)process, 0);

		if (count && db_add(hazards->db, ROW(loss, process, cell_text(reason), count))) {
			step = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	return step;
}

int hazards_finish_losses(struct hazards *hazards)
{
	return store_loss(hazards, &hazards->skipped, HAZARD_LOSS) ||
			store_loss(hazards, &hazards->left_out, HAZARD_LEFT_OUT) ||
			store_loss(hazards, &hazards->forgotten, HAZARD_FORGOTTEN)
		? -1
		: 0;
}
