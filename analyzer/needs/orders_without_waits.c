/* SPDX-License-Identifier: Apache-2.0 */
#include "needs_internal.h"

#include <stdint.h>
#include <stdlib.h>

#include "conflict.h"
#include "memory.h"
#include "unnamed_memory.h"

/* Keys besides allocations, whose ids are positive: */
#define TOUCHES_UNKNOWN (-1)   /* operations with unknown memory */
#define TOUCHES_ANY (-2)       /* all operations */
#define TOUCHES_VARIABLES (-3) /* operations that use variables of modules */

/*
 * Memory that a kernel accesses besides its parameters.  Constants (16, PTX_REACH_CONSTANT) are
 * written only by copies, whose destination is unknown and may be anything.
 */
#define REACHES_MEMORY 15

/* Streams remembered for one allocation; once there are more, unknown ones count as conflicts. */
#define STREAM_LIMIT 256

/*
 * Returns 1 if all graphs do only device work, by kernels that access only memory they were given.
 */
static const char graphs_known_sql[] =
	"SELECT NOT EXISTS (SELECT 1 FROM graph_node n "
	"JOIN call c ON c.id = ifnull(n.origin, n.call) "
	"LEFT JOIN kernel k ON k.id = c.kernel LEFT JOIN kernel_code d ON d.kernel = c.kernel "
	"WHERE CASE n.type WHEN 'kernel' THEN k.parameter_count IS NULL "
	"OR ifnull(d.reaches, 1) & 15 "
	"WHEN 'copy' THEN c.src_memory IS NOT 'device' OR c.dst_memory IS NOT 'device' "
	"ELSE n.type NOT IN ('set', 'empty') END)";

#define USED_BY_SEVERAL UINT32_MAX

/* Memory without a row shares that of row 0. */
static uint32_t *user_of(const struct needs_known *known, int64_t memory)
{
	return &known->user[memory < (int64_t)known->run->allocations.count ? memory : 0];
}

/* A call that makes a graph node uses nothing itself. */
static void note_user(struct needs_known *known, int64_t memory, uint32_t id)
{
	const struct run_call *call = run_call(known->run, id);
	uint32_t *user = user_of(known, memory);

	if (call && (call->stream || kind_has(call->kind, K_WORK)))
		*user = !*user || *user == call->stream + 1 ? call->stream + 1 : USED_BY_SEVERAL;
}

int orders_known_find(struct needs_known *known, struct db *db)
{
	const struct run *run = known->run;
	const struct run_operand *operand = (const struct run_operand *)run->operands.rows;
	const struct run_operand *end = run_rows_end(&run->operands);

	if (host_view_find(&known->view, db))
		return -1;
	known->graphs_known = (int)db_int(db, graphs_known_sql, 0);
	known->reaches = access_some_reach(db);
	/* Memory that a single stream uses, which is most memory, need not be compared. */
	known->user = xcalloc(run->allocations.count + 1, sizeof(*known->user));
	for (; operand < end; operand++)
		note_user(known, run_memory(run, operand->allocation), operand->call);
	for (uint32_t id = 1; id < run->allocations.count; id++) {
		note_user(known, id, run_allocation(run, id)->created);
		note_user(known, id, run_allocation(run, id)->freed);
	}
	return 0;
}

void orders_known_release(struct needs_known *known)
{
	host_view_release(&known->view);
	map_release(&known->timed);
	map_release(&known->sites);
	free(known->user);
}

int orders_init(struct orders *orders, const struct needs_known *known, const struct id_map *events,
	struct db *db, const struct walk_part *part)
{
	const struct run *run = known->run;

	*orders = (struct orders){ .known = known,
		.run = run,
		.full = { .db = db },
		.loose = { [WITHOUT_HOST_WAITS] = { .is_followed = known->has_host,
				   .order.db = db },
			[WITHOUT_EVENT_WAITS] = { .is_followed = known->has_events,
				.order.db = db } },
		.memory.stream_limit = STREAM_LIMIT,
		.reader = access_share(db, part->number),
		.operands = { .rows = &run->operands },
		.launches = { .rows = &run->launches },
		.freed = { .rows = &run->freed },
		.waits = events };
	if (known->has_host)
		orders->live = xcalloc(LIVE_WAITS, sizeof(*orders->live));
	return orders->reader ? 0 : -1;
}

int64_t orders_given_up(const struct orders *orders)
{
	int64_t given_up = orders->full.given_up;

	for (int i = 0; i < WITHOUT_COUNT && !given_up; i++)
		given_up = orders->loose[i].order.given_up;
	return given_up;
}

void orders_release(struct orders *orders)
{
	order_release(&orders->full);
	for (int i = 0; i < WITHOUT_COUNT; i++) {
		order_release(&orders->loose[i].order);
		id_map_release(&orders->kept[i], free);
	}
	recent_release(&orders->memory);
	recent_release(&orders->shown);
	recent_release(&orders->unproven);
	recent_release(&orders->work);
	access_close(orders->reader);
	free(orders->key);
	free(orders->fence);
	needs_events_close(orders);
	needs_host_close(orders);
	needs_release(&orders->found);
}

/* --- memory of a call --- */

static void add_key(struct orders *orders, int64_t key)
{
	orders->names_memory = 1;
	/* Operations of a single stream are ordered in every order that is tracked. */
	if (key >= 0 && *user_of(orders->known, key) != USED_BY_SEVERAL)
		return;
	for (size_t i = 0; i < orders->key_count; i++)
		if (orders->key[i].id == key)
			return;
	/* The array is reused for each call. */
	if (orders->key_count == orders->key_room) {
		orders->key_room = orders->key_room ? 2 * orders->key_room : 4;
		orders->key = xrealloc(orders->key, orders->key_room, sizeof(*orders->key));
	}
	orders->key[orders->key_count++] = (struct orders_key){ .id = key };
}

/* Returns 1 if the host may access the results of a call's operation, or write to its source. */
static int is_host_visible(const struct orders *orders, const struct walk_call *call)
{
	if (call_is_copy(call->kind) || kind_family(call->kind) == FAMILY_set)
		/* A pageable source is read during the call. */
		return call->host_visible || call->src == MEMORY_PINNED ||
			call->src == MEMORY_MANAGED ||
			(call->dst != MEMORY_DEVICE && call->direction != COPY_H2D &&
				call->direction != COPY_D2D);
	if (kind_family(call->kind) == FAMILY_graph_launch)
		return call->host_visible || call->content || !orders->known->graphs_known;
	/* Launches, and copies between devices. */
	if (kind_has(call->kind, K_ACCESSES) && !kind_has(call->kind, K_UNTIMED))
		return call->host_visible;
	return !kind_has(call->kind, K_MARKER);
}

/* Memory of copies and memsets that may be an allocation on the device. */
static int is_device_side(enum memory_kind memory)
{
	return memory == MEMORY_DEVICE || memory == MEMORY_UNKNOWN;
}

static int is_all_known(const struct walk_call *call, int sources, int destinations)
{
	switch (kind_family(call->kind)) {
	case FAMILY_copy:
		if (kind_has(call->kind, K_UNTIMED)) /* several copies */
			return !(call->content & CONTENT_UNNAMED);
		return (sources || call->direction == COPY_H2D || !is_device_side(call->src)) &&
			(destinations || call->direction == COPY_D2H || !is_device_side(call->dst));
	case FAMILY_set:
		return destinations > 0;
	case FAMILY_graph_launch:
		return !(call->content & CONTENT_UNNAMED);
	case FAMILY_launch:
		return !kind_has(call->kind, K_ANY_STREAM);
	case FAMILY_callback:
		return 1;
	default:
		return kind_has(call->kind, K_MARKER);
	}
}

/* Returns 1 if the call may access any memory that kernels access, 0 if not; -1 after a message. */
static int find_reach(struct orders *orders, const struct walk_call *call)
{
	const struct run_ended *launch;
	unsigned reaches;

	if (kind_family(call->kind) == FAMILY_graph_launch && orders->known->reaches) {
		const struct accesses *one = access_read(orders->reader, call->id);

		if (!one)
			return -1;
		if (one->reaches & PTX_REACH_POINTER)
			return 1;
		if (one->reaches & PTX_REACH_VARIABLE)
			add_key(orders, TOUCHES_VARIABLES);
		return 0;
	}
	if (kind_family(call->kind) != FAMILY_launch)
		return 0;
	if (!run_kernel(orders->run, call->kernel)->knows_parameters)
		return 1;
	launch = run_cursor_at(&orders->launches, call->id);
	reaches = run_reaches(orders->run, call->kernel, launch ? launch->what : 0);
	if (reaches & PTX_REACH_POINTER)
		return 1;
	if (reaches & REACHES_MEMORY)
		add_key(orders, TOUCHES_VARIABLES);
	return 0;
}

/* Fills orders->key.  Returns 1 if the call accesses no other, 0 if so, -1 after a message. */
static int find_keys(struct orders *orders, const struct walk_call *call)
{
	const struct run *run = orders->run;
	const struct run_ended *row = NULL;
	int sources = 0, destinations = 0, unknown;
	const struct run_operand *operand;

	orders->key_count = 0;
	orders->names_memory = 0;
	for (; (operand = run_cursor_at(&orders->operands, call->id)); orders->operands.at++) {
		/* Kernels use variables by name: they share one key (find_reach). */
		if (run_is_variable(run, operand->allocation))
			continue;
		sources += operand_is_source(operand->role);
		destinations += operand->role == OPERAND_DST;
		add_key(orders, run_memory(run, operand->allocation));
	}
	unknown = find_reach(orders, call);
	if (unknown < 0)
		return -1;
	/* The first allocation that the call makes in stream order, or what it frees. */
	if (kind_family(call->kind) == FAMILY_stream_allocation)
		row = run_find(&run->allocated, call->id);
	while (row && run_allocation(run, row->what)->kind != ALLOCATION_ASYNC)
		row = run_next(&run->allocated, row);
	if (kind_family(call->kind) == FAMILY_stream_free)
		row = run_cursor_at(&orders->freed, call->id);
	if (row)
		add_key(orders, row->what);
	return !unknown && is_all_known(call, sources, destinations);
}

/* --- earlier accesses --- */

/*
 * The operation of later comes after that of earlier in the full order, but not without these
 * waits.  earlier NULL: possibly after an operation that is not kept.
 */
static void lost(struct orders *orders, enum without without, const struct walk_call *later,
	const struct touch *earlier)
{
	if (without == WITHOUT_HOST_WAITS)
		needs_host_lost_pair(orders, later, earlier);
	else
		needs_events_lost_pair(orders, later, earlier);
}

/*
 * Reports the last operation that loses its order and may need it.  Older ones may need it, too.
 * Sets *is_settled if that is the last one of the ring: then needed waits keep the order of all.
 */
static int check_ring(struct orders *orders, enum without without, const struct walk_call *call,
	int64_t key, struct recent_ring *ring, int *is_settled)
{
	int64_t last = recent_last(ring,
		order_reaches_to(&orders->full_reaches, &orders->full, recent_agent(ring)));
	uint64_t step = orders->full_reaches.step;

	for (; last >= recent_oldest(ring); last--) {
		const struct touch *touch = recent_at(ring, last);
		struct orders_reported *reported =
			&orders->reported[(uint64_t)touch->call % ORDERS_REPORTED];
		int is_same = reported->step == step && reported->call == touch->call;
		int conflict = 1;

		*is_settled = last == ring->count - 1;
		/* Or the pair was already reported, for other memory that both access. */
		if (orders_is_before_without(orders, without, touch) ||
			(is_same && reported->without & 1u << without))
			return 0;
		/* Memory that both name has keys of its own. */
		if (kind_has(call->kind, K_ACCESSES) && touch->is_access)
			conflict = access_may_conflict(orders->reader, call->id, touch->call,
				key == TOUCHES_VARIABLES ? CONFLICT_MAYBE : CONFLICT_UNKNOWN);
		if (!conflict)
			continue;
		if (conflict < 0)
			return -1;
		if (!is_same)
			*reported = (struct orders_reported){ step, touch->call, 0 };
		reported->without |= 1u << without;
		lost(orders, without, call, touch);
		return 0;
	}
	*is_settled = 0;
	if (ring->forgot)
		lost(orders, without, call, NULL);
	return 0;
}

/*
 * Sets a bit in *after_all if the call is surely after all operations with that key, in the order
 * without the waits that are not known to be needed.  An operation after a touch is also after
 * everything before that touch.
 */
static int check_key(struct orders *orders, enum without without, const struct walk_call *call,
	int64_t key, unsigned *after_all)
{
	const struct recent_thing *thing = recent_find(&orders->memory, key);
	struct recent_ring *ring = thing ? recent_newest(thing) : NULL;
	int is_last = 1;

	for (; ring; ring = recent_older(thing, ring)) {
		int is_settled =
			orders_is_before_without(orders, without, recent_at(ring, ring->count - 1));

		if (!is_settled && ring->stream != call->stream &&
			check_ring(orders, without, call, key, ring, &is_settled))
			return -1;
		if (is_settled && ring->after_all & 1u << without)
			break;
		is_last &= is_settled;
	}
	if (thing && !ring && thing->forgot)
		lost(orders, without, call, NULL);
	else
		*after_all |= (unsigned)is_last << without;
	return 0;
}

/* Sure results have even keys. */
static int64_t shown_key(int64_t process, enum host_view_shown shown)
{
	return 2 * process + (shown != SHOWN);
}

/* Returns 1 if some access is known by weaker evidence than a call or PTX, or not at all. */
static int is_unproven(struct orders *orders, const struct walk_call *call)
{
	const struct run_kernel *kernel = run_kernel(orders->run, call->kernel);
	const struct accesses *accesses;

	if (!kind_has(call->kind, K_ACCESSES))
		return 0;
	if (kind_family(call->kind) == FAMILY_launch &&
		(kernel->complete || kernel->evidence < EVIDENCE_PTX))
		return kernel->evidence < EVIDENCE_PTX;
	accesses = access_read(orders->reader, call->id);
	if (!accesses)
		return -1;
	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->access[i].evidence < EVIDENCE_PTX)
			return 1;
	return !accesses->complete;
}

static int note_all(struct orders *orders, const struct walk_call *call, int all_known,
	unsigned after_all)
{
	struct touch touch = { .call = (uint32_t)call->id,
		.stream = (uint32_t)call->stream,
		.end = call->op_end,
		/* An allocation or a free affects all accesses. */
		.is_access = kind_has(call->kind, K_ACCESSES),
		.full = orders->full.epoch };
	const struct accesses *accesses;
	int shown;

	if (touch.is_access && all_known && orders->key_count) {
		accesses = access_read(orders->reader, call->id);
		if (!accesses)
			return -1;
		touch.accesses = accesses->complete ? accesses->number : 0;
	}
	/* An allocation or a free takes no time: it ends with the work before it. */
	if (kind_family(call->kind) == FAMILY_stream_allocation ||
		kind_family(call->kind) == FAMILY_stream_free) {
		touch.end = INT64_MIN;
		for (int i = 0; i < ORDER_REASONS; i++)
			if (orders->full.needs[i].op && orders->full.needs[i].end > touch.end)
				touch.end = orders->full.needs[i].end;
	}
	for (int i = 0; i < WITHOUT_COUNT; i++)
		touch.loose[i] = orders->loose[i].order.epoch;
	for (size_t i = 0; i < orders->key_count; i++)
		recent_note(&orders->memory, orders->key[i].id, &touch,
			orders->key[i].after_all | after_all);
	if (!all_known)
		recent_note(&orders->memory, TOUCHES_UNKNOWN, &touch, after_all);
	recent_note(&orders->memory, TOUCHES_ANY, &touch, after_all);
	if (walk_submits(call))
		recent_note(&orders->work, call->stream, &touch, 0);
	orders->is_unproven = is_unproven(orders, call);
	if (orders->is_unproven < 0)
		return -1;
	if (orders->is_unproven)
		recent_note(&orders->unproven, call->process, &touch, 0);
	shown = host_view_may_read(&orders->known->view, orders->reader, call,
		is_host_visible(orders, call));
	if (shown <= 0)
		return shown;
	orders->shows = (enum host_view_shown)shown;
	if (orders->loose[WITHOUT_HOST_WAITS].is_followed)
		touch.clock = orders->loose[WITHOUT_HOST_WAITS].order.now;
	recent_note(&orders->shown, shown_key(call->process, orders->shows), &touch, 0);
	return 0;
}

int orders_all(struct orders *orders, const struct walk_call *call)
{
	const struct run_ended *freed;
	int is_known, all_known; /* is_known: it submitted an operation that all orders contain */
	/* A bit for each order in which it is after all operations, if not all is known. */
	unsigned after_all = 0, unused = 0;

	orders->shows = SHOWN_NOTHING;
	orders->is_unproven = 0;
	all_known = find_keys(orders, call);
	if (all_known < 0)
		return -1;
	for (size_t i = 0; i < orders->key_count; i++)
		recent_prefetch(&orders->memory, orders->key[i].id);
	if (order_step(&orders->full, call))
		return -1;
	for (size_t i = 0; i < orders->key_count; i++)
		recent_prefetch_rings(&orders->memory, orders->key[i].id, call->stream);
	order_reaches_begin(&orders->full_reaches);
	is_known = orders->full.epoch.seq != 0;
	for (int i = 0; i < WITHOUT_COUNT; i++) {
		struct orders_loose *loose = &orders->loose[i];

		if (!loose->is_followed)
			continue;
		if (order_step(&loose->order, call))
			return -1;
		order_reaches_begin(&loose->reaches);
		is_known &= loose->order.epoch.seq != 0;
	}
	for (enum without i = 0; i < WITHOUT_COUNT && is_known; i++) {
		size_t keys = all_known ? orders->key_count : 0;

		if (!orders->loose[i].is_followed)
			continue;
		if (!all_known && check_key(orders, i, call, TOUCHES_ANY, &after_all))
			return -1;
		for (size_t k = 0; k < keys; k++)
			if (check_key(orders, i, call, orders->key[k].id,
				    &orders->key[k].after_all))
				return -1;
		if (all_known && orders->names_memory &&
			check_key(orders, i, call, TOUCHES_UNKNOWN, &unused))
			return -1;
	}
	if (is_known && note_all(orders, call, all_known, after_all))
		return -1;
	/* An allocation is not accessed after its free, unless others are parts of it. */
	freed = run_cursor_at(&orders->freed, call->id);
	if (freed && !run_allocation(orders->run, freed->what)->has_parts)
		recent_forget(&orders->memory, freed->what);
	return 0;
}

int orders_without(struct orders *orders, enum without without, const struct walk_call *call)
{
	orders->shows = SHOWN_NOTHING;
	orders->is_unproven = 0;
	if (order_step(&orders->full, call))
		return -1;
	for (int i = 0; i < WITHOUT_COUNT; i++)
		if (orders->loose[i].is_followed && i != (int)without &&
			order_step(&orders->loose[i].order, call))
			return -1;
	return 0;
}

const struct recent_thing *orders_shown_of(const struct orders *orders, int64_t process,
	enum host_view_shown shown)
{
	return recent_find(&orders->shown, shown_key(process, shown));
}

const struct touch *orders_find(const struct orders *orders, int64_t stream, int64_t call)
{
	const struct recent_thing *work = recent_find(&orders->work, stream);
	const struct recent_ring *ring = work ? work->ring : NULL;

	for (int64_t k = ring ? ring->count - 1 : -1; ring && k >= recent_oldest(ring); k--)
		if (recent_at(ring, k)->call <= call)
			return recent_at(ring, k)->call == call ? recent_at(ring, k) : NULL;
	return NULL;
}
