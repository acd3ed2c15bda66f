/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts records, which are written as calls return, into order of entry: first within a lane, then
 * across lanes.
 */
#include "load_accept.h"
#include "memory.h"
#include "print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_fields(const struct loader *loader, struct loaded_call *call)
{
	const struct call_record *record = (const struct call_record *)call->record;
	const struct call_type_record *type = call->type->record;
	struct call_fields *fields = &call->fields;

	call->returned = record->head.type == RECORD_CALL;
	call->failed = !call->returned || record->result != 0;
	call->kind = type->kind < KIND_COUNT ? type->kind : (unsigned)KIND_OTHER;
	if (!call->returned) {
		const struct enter_record *enter = (const struct enter_record *)call->record;

		for (unsigned i = type->field_count; i-- > 0;) {
			unsigned kind = (uint8_t)type->data[i];

			if (record_bytes(&enter->head) < ENTER_BYTES || !field_is_operand(kind))
				continue;
			fields->value[kind] = enter->operand[0];
			fields->present |= 1ull << kind;
			break;
		}
		return;
	}
	for (unsigned i = 0; i < type->field_count; i++) {
		unsigned kind = (uint8_t)type->data[i];
		if (kind >= FIELD_KIND_COUNT)
			continue;
		fields->value[kind] = load_is_size(kind) && record->field[i] > SIZE_MOST
			? SIZE_MOST
			: record->field[i];
		fields->present |= 1ull << kind;
	}
	/* Identifies the thread; births are needed only here. */
	if (fields->present & 1ull << FIELD_birth) {
		uint64_t number = map_get(&loader->p.births, fields->value[FIELD_birth], 0);

		fields->value[FIELD_thread] = number ? loader->p.thread[number - 1].tid : 0;
		fields->present |= 1ull << FIELD_thread;
	}
	/* A copy has a direction field only if its call does not imply the direction. */
	if (fields->present & 1ull << FIELD_src && !(fields->present & 1ull << FIELD_direction)) {
		fields->value[FIELD_direction] = TRAITS_DIRECTION(type->traits);
		fields->present |= 1ull << FIELD_direction;
	}
}

static unsigned number_of(const struct record *record)
{
	return record->type == RECORD_CALL ? ((const struct call_record *)record)->call
					   : ((const struct enter_record *)record)->call;
}

static int is_nested(const struct lane_call *call)
{
	return call->record->flags & CALL_NESTED;
}

/*
 * Drops enter records whose call returned.  Open announced calls are a stack in order of entry; a
 * return also closes calls entered after it, which never returned.
 */
static void drop_announced(struct lane *lane, uint32_t *open)
{
	enum { SAME_TICK = 8 }; /* calls entered in one tick, nested in each other */
	size_t depth = 0;

	for (size_t i = 0; i < lane->count; i++) {
		const struct lane_call *call = &lane->call[i];

		if (call->exit == UINT64_MAX) {
			open[depth++] = (uint32_t)i;
			continue;
		}
		while (depth && lane->call[open[depth - 1]].enter > call->enter)
			depth--;
		for (size_t d = depth; d-- > 0 && depth - d <= SAME_TICK;) {
			struct lane_call *entered = &lane->call[open[d]];

			if (entered->enter != call->enter)
				break;
			if (number_of(entered->record) != number_of(call->record))
				continue;
			entered->record = NULL;
			memmove(open + d, open + d + 1, (--depth - d) * sizeof(*open));
			break;
		}
	}
}

/* Order: returned calls by return, then calls that never returned, innermost first. */
static void sort_by_return(struct lane *lane, struct lane_call *spare)
{
	size_t count = 0;

	for (size_t i = 0; i < lane->count; i++)
		if (lane->call[i].exit != UINT64_MAX)
			spare[count++] = lane->call[i];
	for (size_t i = lane->count; i-- > 0;)
		if (lane->call[i].exit == UINT64_MAX && lane->call[i].record)
			spare[count++] = lane->call[i];
	memcpy(lane->call, spare, count * sizeof(*spare));
	lane->count = count;
}

/*
 * In order of return, children come before their parent, so the calls still without a parent are a
 * stack.  Ties in virtual time are resolved by the recorder's flag.  A call that never returned can
 * contain later calls only if all of them are nested; a later top-level call means that its return
 * was lost.  Parents are indices + 1.
 */
static void find_parents(struct lane *lane, uint32_t *stack)
{
	uint64_t latest_top = 0;
	size_t depth = 0;

	for (size_t i = 0; i < lane->count; i++) {
		const struct lane_call *call = &lane->call[i];
		int holds = call->exit != UINT64_MAX || call->enter >= latest_top;

		while (depth && holds) {
			struct lane_call *top = &lane->call[stack[depth - 1]];

			if (top->enter < call->enter ||
				(top->enter == call->enter && !is_nested(top)))
				break;
			top->parent = (uint32_t)i + 1;
			depth--;
		}
		stack[depth++] = (uint32_t)i;
		if (!is_nested(call) && call->enter > latest_top)
			latest_top = call->enter;
	}
}

/*
 * Sorts by entry by walking the call trees, parents before children and siblings in order of
 * return, independent of clock ticks.  Children have lower indices than their parent: one upward
 * pass sums the sizes of subtrees, one downward pass assigns each child the last free places of its
 * parent's range.
 */
static void sort_by_entry(struct lane *lane, struct lane_call *sorted, uint32_t *size,
	uint32_t *end)
{
	memset(size, 0, lane->count * sizeof(*size));
	for (size_t i = 0; i < lane->count; i++) {
		size[i]++;
		if (lane->call[i].parent)
			size[lane->call[i].parent - 1] += size[i];
	}
	end[0] = (uint32_t)lane->count; /* of calls without a parent */
	for (size_t i = lane->count; i-- > 0;) {
		struct lane_call *call = &lane->call[i];
		uint32_t last = end[call->parent];

		end[i + 1] = last;
		end[call->parent] = last - size[i];
		size[i] =
			last - size[i]; /* all its children are placed: size now holds its place */
	}
	for (size_t i = 0; i < lane->count; i++) {
		struct lane_call *call = &lane->call[i];

		sorted[size[i]] = *call;
		if (call->parent)
			sorted[size[i]].parent = size[call->parent - 1] + 1;
	}
	memcpy(lane->call, sorted, lane->count * sizeof(*sorted));
}

int lane_order(struct lane *lane)
{
	struct lane_call *spare = xrealloc(NULL, lane->count, sizeof(*spare));
	uint32_t *numbers = xrealloc(NULL, 2 * lane->count + 1, sizeof(*numbers));

	drop_announced(lane, numbers);
	sort_by_return(lane, spare);
	find_parents(lane, numbers);
	sort_by_entry(lane, spare, numbers, numbers + lane->count);
	free(spare);
	free(numbers);
	return 0;
}

/* Lanes whose next call is known form a heap: the earliest entry on top. */
static int comes_before(const struct lane *a, const struct lane *b)
{
	uint64_t x = a->call[a->next].enter, y = b->call[b->next].enter;

	return x != y ? x < y : a->thread < b->thread;
}

static void sink(struct loaded_process *p, size_t at)
{
	for (;;) {
		size_t first = 2 * at + 1;
		uint32_t lane = p->heap[at];

		if (first >= p->heap_count)
			return;
		if (first + 1 < p->heap_count &&
			comes_before(&p->lane[p->heap[first + 1]], &p->lane[p->heap[first]]))
			first++;
		if (!comes_before(&p->lane[p->heap[first]], &p->lane[lane]))
			return;
		p->heap[at] = p->heap[first];
		p->heap[first] = lane;
		at = first;
	}
}

int loader_start_calls(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	p->heap = xrealloc(NULL, p->lane_count, sizeof(*p->heap));
	for (size_t i = 0; i < p->lane_count; i++) {
		if (lane_fill(loader, &p->lane[i]))
			return -1;
		if (p->lane[i].count)
			p->heap[p->heap_count++] = (uint32_t)i;
	}
	for (size_t i = p->heap_count / 2; i-- > 0;)
		sink(p, i);
	return 0;
}

/* Advances the top lane past its last returned call. */
static int advance(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	struct lane *lane = &p->lane[p->heap[0]];

	if (++lane->next == lane->count && lane_fill(loader, lane))
		return -1;
	if (!lane->count)
		p->heap[0] = p->heap[--p->heap_count];
	sink(p, 0);
	return 0;
}

int loader_next_call(struct loader *loader, struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	struct lane_call *next;
	struct lane *lane;

	if (p->call_count && p->heap_count && advance(loader))
		return -1;
	if (!p->heap_count)
		return 0;
	if (p->call_count == UINT32_MAX) {
		print(stderr, "cufence: '%s' has too many calls\n", loader->path);
		return -1;
	}
	lane = &p->lane[p->heap[0]];
	next = &lane->call[lane->next];
	next->number = ++p->call_count;
	*call = (struct loaded_call){
		.record = next->record,
		.enter = next->enter,
		.exit = next->exit,
		.number = next->number,
		.thread = lane->thread,
		.parent = next->parent ? lane->call[next->parent - 1].number : 0,
		.type = &p->type[number_of(next->record)],
	};
	read_fields(loader, call);
	return 1;
}
