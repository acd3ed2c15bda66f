/* SPDX-License-Identifier: Apache-2.0 */
#include "relax.h"

#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "unnamed_memory.h"

/* Besides allocations, whose ids are positive: */
#define TOUCHES_HOST (-1)      /* what the host may look at */
#define TOUCHES_UNKNOWN (-2)   /* it is not known what */
#define TOUCHES_ANY (-3)       /* every operation */
#define TOUCHES_VARIABLES (-4) /* variables of modules */

/*
 * Of what a kernel reaches beside what it was given.  Constants (16, PTX_REACH_CONSTANT) are
 * written by copies alone, not known where: these may touch anything.
 */
#define REACHES_MEMORY 15

/* So many pairs of a stream are looked at for what they do. */
#define CONFLICT_TRIES 16
/* So many streams with one allocation are not told apart. */
#define STREAM_LIMIT 256

/* The last operations of a stream on something, a ring. */
struct ring {
	int64_t stream;
	int64_t count; /* of all there were */
	struct touch *touch;
};

struct touched {
	struct ring *ring; /* by stream */
	size_t count;
	int crowded;
};

static int no_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	(void)arg, (void)call, (void)needs, (void)reason;
	return 0;
}

/* Graphs of nothing but work on the device, by kernels that go only where they were pointed. */
static const char graphs_known_sql[] =
	"SELECT NOT EXISTS (SELECT 1 FROM graph_node n "
	"JOIN call c ON c.id = ifnull(n.origin, n.call) "
	"LEFT JOIN kernel k ON k.id = c.kernel LEFT JOIN kernel_code d ON d.kernel = c.kernel "
	"WHERE CASE n.type WHEN 'kernel' THEN k.parameter_count IS NULL "
	"OR ifnull(d.reaches, 1) & 15 "
	"WHEN 'copy' THEN c.src_memory IS NOT 'device' OR c.dst_memory IS NOT 'device' "
	"ELSE n.type NOT IN ('set', 'empty') END)";

int relax_init(struct relax *relax, struct db *db)
{
	relax->full = relax->loose = (struct order){ .edge = no_edge, .db = db };
	relax->reader = access_open(db);
	if (!relax->reader)
		return -1;
	relax->graphs_known = (int)db_int(db, graphs_known_sql, 0);
	relax->reaches = access_some_reach(db);
	relax->run = db->run;
	relax->operands = (struct run_cursor){ .rows = &db->run->operands };
	relax->launches = (struct run_cursor){ .rows = &db->run->launches };
	relax->freed = (struct run_cursor){ .rows = &db->run->freed };
	return 0;
}

static void free_touched(void *object)
{
	struct touched *touched = object;

	for (size_t i = 0; touched && i < touched->count; i++)
		free(touched->ring[i].touch);
	if (touched)
		free(touched->ring);
	free(touched);
}

int64_t relax_given_up(const struct relax *relax)
{
	return relax->full.given_up ? relax->full.given_up : relax->loose.given_up;
}

void relax_release(struct relax *relax)
{
	order_release(&relax->full);
	order_release(&relax->loose);
	idmap_release(&relax->touched, free_touched);
	access_close(relax->reader);
	relax->reader = NULL;
	free(relax->key);
	relax->key = NULL;
}

/* --- what a call touches --- */

static int add_key(struct relax *relax, int64_t key)
{
	int64_t *more;

	for (size_t i = 0; i < relax->key_count; i++)
		if (relax->key[i] == key)
			return 0;
	/* The array is kept from call to call; it grows by the same steps again. */
	more = array_room(relax->key, relax->key_count, sizeof(*more));
	if (!more)
		return -1;
	relax->key = more;
	relax->key[relax->key_count++] = key;
	return 0;
}

/* Whether the host may look at what the operation of a call does, or write to what it reads. */
static int is_host_visible(const struct relax *relax, const struct walk_call *call)
{
	if (call_is_copy(call->kind) || kind_family(call->kind) == FAMILY_set)
		/* A pageable source is read during the call. */
		return call->host_visible || call->src == MEMORY_PINNED ||
			call->src == MEMORY_MANAGED ||
			(call->dst != MEMORY_DEVICE && call->direction != COPY_H2D &&
				call->direction != COPY_D2D);
	if (kind_family(call->kind) == FAMILY_graph_launch)
		return call->host_visible || call->content || !relax->graphs_known;
	/* Launches, and copies between devices. */
	if (kind_has(call->kind, K_ACCESSES) && !kind_has(call->kind, K_UNTIMED))
		return call->host_visible;
	return !kind_has(call->kind, K_MARKER);
}

/* The memory of copies and memsets on the device, as far as it is an allocation's. */
static int is_device_side(enum memory_kind memory)
{
	return memory == MEMORY_DEVICE || memory == MEMORY_UNKNOWN;
}

static int is_all_known(const struct walk_call *call, int sources, int destinations)
{
	switch (kind_family(call->kind)) {
	case FAMILY_copy:
		if (kind_has(call->kind, K_UNTIMED)) /* many copies */
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

/* What the call allocates in stream order, the first of it. */
static int add_allocated(struct relax *relax, const struct walk_call *call)
{
	const struct run_ended *row = run_find(&relax->run->allocated, call->id);
	const struct run_ended *end = run_rows_end(&relax->run->allocated);

	for (; row && row < end && row->call == call->id; row++)
		if (run_allocation(relax->run, row->what)->kind == ALLOCATION_ASYNC)
			return add_key(relax, row->what);
	return 0;
}

static int add_freed(struct relax *relax, const struct walk_call *call)
{
	const struct run_ended *row = run_cursor_at(&relax->freed, call->id);

	return row ? add_key(relax, row->what) : 0;
}

/* 1 if it may be anything that the kernels touch, 0 if not; -1 after a message. */
static int find_reach(struct relax *relax, const struct walk_call *call)
{
	const struct run_ended *launch;
	unsigned reaches;

	if (kind_family(call->kind) == FAMILY_graph_launch && relax->reaches) {
		const struct accesses *one = access_read(relax->reader, call->id);

		if (!one)
			return -1;
		if (one->reaches & PTX_REACH_POINTER)
			return 1;
		return one->reaches & PTX_REACH_VARIABLE ? add_key(relax, TOUCHES_VARIABLES) : 0;
	}
	if (kind_family(call->kind) != FAMILY_launch)
		return 0;
	if (!run_kernel(relax->run, call->kernel)->knows_parameters)
		return 1;
	launch = run_cursor_at(&relax->launches, call->id);
	reaches = run_reaches(relax->run, call->kernel, launch ? launch->what : 0);
	if (reaches & PTX_REACH_POINTER)
		return 1;
	return reaches & REACHES_MEMORY ? add_key(relax, TOUCHES_VARIABLES) : 0;
}

/* Fills relax->key; 1 if that is all that the call touches, 0 if not, -1 after a message. */
static int find_keys(struct relax *relax, const struct walk_call *call)
{
	int sources = 0, destinations = 0, unknown;
	const struct run_operand *operand;

	relax->key_count = 0;
	for (; (operand = run_cursor_at(&relax->operands, call->id)); relax->operands.at++) {
		/* Kernels use them by name: all of them are one (find_reach). */
		if (run_allocation(relax->run, operand->allocation)->kind == ALLOCATION_VARIABLE)
			continue;
		sources += operand->role == OPERAND_SRC;
		destinations += operand->role == OPERAND_DST;
		if (add_key(relax, run_memory(relax->run, operand->allocation)))
			return -1;
	}
	unknown = find_reach(relax, call);
	if (unknown < 0)
		return -1;
	if ((kind_family(call->kind) == FAMILY_stream_allocation && add_allocated(relax, call)) ||
		(kind_family(call->kind) == FAMILY_stream_free && add_freed(relax, call)))
		return -1;
	return !unknown && is_all_known(call, sources, destinations);
}

/* --- who touched it before --- */

static const struct touch *at(const struct ring *ring, int64_t number)
{
	return &ring->touch[number % RELAX_DEPTH];
}

static int64_t oldest(const struct ring *ring)
{
	return ring->count > RELAX_DEPTH ? ring->count - RELAX_DEPTH : 0;
}

/*
 * The number of the last one for which before() is true, oldest - 1 without one: an operation of a
 * stream is not before something that the one before it is not.  Mostly it is one of the newest.
 */
static int64_t find_last(const struct ring *ring, const struct relax_visitor *visitor)
{
	int64_t none = oldest(ring) - 1, low = ring->count - 1, high = low;

	for (int64_t step = 1; low > none && !visitor->before(visitor->arg, at(ring, low));
		step *= 2) {
		high = low - 1;
		low -= step;
	}
	low = low > none ? low : none;
	while (low < high) {
		int64_t middle = low + (high - low + 1) / 2;

		if (visitor->before(visitor->arg, at(ring, middle)))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

int relax_is_before(struct relax *relax, const struct order_epoch *epoch)
{
	return order_reaches(&relax->full_reaches, &relax->full, epoch);
}

static int is_before_in_full(void *arg, const struct touch *touch)
{
	return relax_is_before(arg, &touch->full);
}

static int is_before_in_loose(struct relax *relax, const struct touch *touch)
{
	return order_reaches(&relax->loose_reaches, &relax->loose, &touch->loose);
}

/* Launches, copies, memsets, graphs of them; that memory is allocated or freed matters to all. */
static int is_access(const struct walk_call *call)
{
	return kind_has(call->kind, K_ACCESSES);
}

/* 0 only if it is known that they need no order; -1 after a message. */
static int may_conflict(struct relax *relax, const struct walk_call *call, int64_t key,
	const struct touch *touch)
{
	const struct accesses *one, *other;

	if (!is_access(call) || !touch->is_access)
		return 1;
	one = access_read(relax->reader, call->id);
	if (!one)
		return -1;
	if (!one->complete && key != TOUCHES_VARIABLES)
		return 1;
	other = access_read(relax->reader, touch->call);
	if (!other)
		return -1;
	if (key == TOUCHES_VARIABLES)
		return accesses_meet(one, other);
	return !other->complete || access_compare(relax->reader, one, other) != OVERLAP_NONE;
}

/* The pair was reported, for other memory that both touch. */
static int is_reported(struct relax *relax, const struct touch *touch)
{
	struct relax_reported *reported = &relax->reported[(uint64_t)touch->call % RELAX_REPORTED];

	return reported->step == relax->full_reaches.step && reported->call == touch->call;
}

static int tell(struct relax *relax, const struct walk_call *call, const struct touch *touch)
{
	relax->reported[(uint64_t)touch->call % RELAX_REPORTED] =
		(struct relax_reported){ relax->full_reaches.step, touch->call };
	return relax->lost(relax->arg, call, touch);
}

/* The last that loses its order and may need it; those before it may, too. */
static int check_ring(struct relax *relax, const struct walk_call *call, int64_t key,
	const struct ring *ring)
{
	struct relax_visitor visitor = { .before = is_before_in_full, .arg = relax };
	int64_t last = find_last(ring, &visitor);

	for (int tries = 0; last >= oldest(ring); last--, tries++) {
		int conflict;

		if (is_before_in_loose(relax, at(ring, last)) || is_reported(relax, at(ring, last)))
			return 0;
		conflict =
			tries < CONFLICT_TRIES ? may_conflict(relax, call, key, at(ring, last)) : 1;
		if (conflict)
			return conflict < 0 ? -1 : tell(relax, call, at(ring, last));
	}
	return ring->count > RELAX_DEPTH ? relax->lost(relax->arg, call, NULL) : 0;
}

static int check_key(struct relax *relax, const struct walk_call *call, int64_t key)
{
	const struct touched *touched = idmap_get(&relax->touched, key);

	if (touched && touched->crowded)
		return relax->lost(relax->arg, call, NULL);
	for (size_t i = 0; touched && i < touched->count; i++)
		if (touched->ring[i].stream != call->stream &&
			check_ring(relax, call, key, &touched->ring[i]))
			return -1;
	return 0;
}

static int check(struct relax *relax, const struct walk_call *call, int all_known)
{
	if (!all_known)
		return check_key(relax, call, TOUCHES_ANY);
	for (size_t i = 0; i < relax->key_count; i++)
		if (check_key(relax, call, relax->key[i]))
			return -1;
	return relax->key_count ? check_key(relax, call, TOUCHES_UNKNOWN) : 0;
}

static struct ring *ring_of(struct touched *touched, int64_t stream)
{
	struct ring *more;

	for (size_t i = 0; i < touched->count; i++)
		if (touched->ring[i].stream == stream)
			return &touched->ring[i];
	more = array_room(touched->ring, touched->count, sizeof(*more));
	if (!more)
		return NULL;
	touched->ring = more;
	touched->ring[touched->count] = (struct ring){ .stream = stream };
	return &touched->ring[touched->count++];
}

static int note(struct relax *relax, int64_t key, struct touch touch)
{
	struct touched *touched = idmap_need(&relax->touched, key, sizeof(*touched));
	struct touch *more;
	struct ring *ring;

	if (!touched || touched->crowded)
		return touched ? 0 : -1;
	if (touched->count >= STREAM_LIMIT) {
		touched->crowded = 1;
		return 0;
	}
	ring = ring_of(touched, touch.stream);
	if (!ring)
		return -1;
	if (ring->count < RELAX_DEPTH) {
		more = array_room(ring->touch, (size_t)ring->count, sizeof(*more));
		if (!more)
			return -1;
		ring->touch = more;
	}
	touch.slot = (int)(ring->count % RELAX_DEPTH);
	if (key == TOUCHES_HOST)
		relax->host_slot = touch.slot;
	ring->touch[ring->count++ % RELAX_DEPTH] = touch;
	return 0;
}

static int64_t end_of(const struct relax *relax, const struct walk_call *call)
{
	int64_t end = INT64_MIN;

	if (kind_family(call->kind) != FAMILY_stream_allocation &&
		kind_family(call->kind) != FAMILY_stream_free)
		return call->op_end;
	for (int i = 0; i < ORDER_REASONS; i++)
		if (relax->full.needs[i].op && relax->full.needs[i].end > end)
			end = relax->full.needs[i].end;
	return end;
}

static int note_all(struct relax *relax, const struct walk_call *call, int all_known)
{
	struct touch touch = { .call = call->id,
		.stream = call->stream,
		.end = end_of(relax, call),
		.is_access = is_access(call),
		.full = relax->full.epoch,
		.loose = relax->loose.epoch };
	int shown = is_host_visible(relax, call);

	for (size_t i = 0; i < relax->key_count; i++)
		if (note(relax, relax->key[i], touch))
			return -1;
	if (relax->shows)
		shown = relax->shows(relax->arg, call, shown);
	if (shown < 0 || (shown && note(relax, TOUCHES_HOST, touch)))
		return -1;
	if (!all_known && note(relax, TOUCHES_UNKNOWN, touch))
		return -1;
	return note(relax, TOUCHES_ANY, touch);
}

/* Nobody touches an allocation after its end, unless others are parts of it. */
static void forget(struct relax *relax, const struct walk_call *call)
{
	const struct run_ended *row = run_cursor_at(&relax->freed, call->id);

	if (row && !run_allocation(relax->run, row->what)->has_parts)
		free_touched(idmap_take(&relax->touched, row->what));
}

int relax_fetches(const struct walk_call *call)
{
	return call_is_copy(call->kind) && !call->result && call->direction == COPY_D2H;
}

int relax_both(struct relax *relax, const struct walk_call *call)
{
	int fetches = relax->fetched && relax_fetches(call), all_known = 0;

	relax->host_slot = -1;
	if (fetches) {
		all_known = find_keys(relax, call);
		if (all_known < 0 || relax->fetched(relax->arg, call))
			return -1;
	}
	if (order_step(&relax->full, call) || order_step(&relax->loose, call))
		return -1;
	order_reaches_begin(&relax->full_reaches);
	order_reaches_begin(&relax->loose_reaches);
	if (!relax->full.epoch.seq || !relax->loose.epoch.seq) {
		forget(relax, call);
		return 0;
	}
	if (!fetches)
		all_known = find_keys(relax, call);
	if (all_known < 0 || check(relax, call, all_known) || note_all(relax, call, all_known))
		return -1;
	forget(relax, call);
	return 0;
}

int relax_full(struct relax *relax, const struct walk_call *call)
{
	return order_step(&relax->full, call);
}

int relax_event(struct relax *relax, const struct walk_call *call, enum call_kind kind,
	int64_t stream, int slot)
{
	struct walk_call step = *call;

	step.kind = kind;
	step.event = -(stream * RELAX_DEPTH + slot + 1);
	step.op = step.op_busy = 0;
	step.op_start = step.op_end = WALK_NEVER;
	step.contested = 0;
	return order_step(&relax->loose, &step);
}

static int visit(const struct relax *relax, int64_t key, const struct relax_visitor *visitor)
{
	const struct touched *touched = idmap_get(&relax->touched, key);

	if (touched && touched->crowded)
		return visitor->visit(visitor->arg, NULL);
	for (size_t i = 0; touched && i < touched->count; i++) {
		const struct ring *ring = &touched->ring[i];
		int64_t last = find_last(ring, visitor);

		if (last >= oldest(ring) && visitor->visit(visitor->arg, at(ring, last)))
			return -1;
	}
	return 0;
}

int relax_visit_host(const struct relax *relax, const struct relax_visitor *visitor)
{
	return visit(relax, TOUCHES_HOST, visitor);
}

int relax_visit_named(const struct relax *relax, const struct relax_visitor *visitor)
{
	for (size_t i = 0; i < relax->key_count; i++)
		if (visit(relax, relax->key[i], visitor))
			return -1;
	return 0;
}
