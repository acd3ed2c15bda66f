/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From records, which are written as calls return, to calls in order of entry.
 */
#include "loader.h"

#include <stdio.h>
#include <stdlib.h>

unsigned loader_call_number(const struct loaded_call *call)
{
	return call->record->type == RECORD_CALL
		       ? ((const struct call_record *)call->record)->call
		       : ((const struct enter_record *)call->record)->call;
}

unsigned loader_call_kind(const struct loader *loader, const struct loaded_call *call)
{
	const struct call_type_record *type = loader->p.type[loader_call_number(call)].record;

	return type && type->kind < KIND_COUNT ? type->kind : (unsigned)KIND_OTHER;
}

struct call_fields loader_fields(const struct loader *loader, const struct loaded_call *call)
{
	const struct call_record *record = (const struct call_record *)call->record;
	const struct call_type_record *type = loader->p.type[loader_call_number(call)].record;
	struct call_fields fields = { .present = 0 };

	if (record->head.type != RECORD_CALL)
		return fields;
	for (unsigned i = 0; i < type->field_count; i++) {
		unsigned kind = (uint8_t)type->data[i];
		if (kind >= FIELD_KIND_COUNT)
			continue;
		fields.value[kind] = record->field[i];
		fields.present |= 1ull << kind;
	}
	/* Which thread that was; nobody else needs to know of births. */
	if (fields.present & 1ull << FIELD_birth) {
		uint64_t number = map_get(&loader->p.births, fields.value[FIELD_birth], 0);

		fields.value[FIELD_thread] = number ? loader->p.thread[number - 1].tid : 0;
		fields.present |= 1ull << FIELD_thread;
	}
	/* A copy has a field for its direction only where its call does not say it. */
	if (fields.present & 1ull << FIELD_src && !(fields.present & 1ull << FIELD_direction)) {
		fields.value[FIELD_direction] = TRAITS_DIRECTION(type->traits);
		fields.present |= 1ull << FIELD_direction;
	}
	return fields;
}

/* Same thread, same entry, same call: an enter record and the call it announced. */
static int compare_announcement(const void *a, const void *b)
{
	const struct loaded_call *p = a, *q = b;
	unsigned m, n;

	if (p->thread != q->thread)
		return p->thread < q->thread ? -1 : 1;
	if (p->enter != q->enter)
		return p->enter < q->enter ? -1 : 1;
	m = loader_call_number(p);
	n = loader_call_number(q);
	if (m != n)
		return m < n ? -1 : 1;
	/* The enter record last, so that it follows the call. */
	return (p->exit == UINT64_MAX) - (q->exit == UINT64_MAX);
}

/* Order of return, within a thread; equal times keep the order of the trace. */
static int compare_return(const void *a, const void *b)
{
	const struct loaded_call *p = a, *q = b;

	if (p->thread != q->thread)
		return p->thread < q->thread ? -1 : 1;
	if (p->exit != q->exit)
		return p->exit < q->exit ? -1 : 1;
	if (p->exit == UINT64_MAX) /* the inner one of two that never returned was entered last */
		return p->enter > q->enter ? -1 : p->enter < q->enter;
	return p->sequence < q->sequence ? -1 : p->sequence > q->sequence;
}

/* Drops enter records whose call returned. */
static void drop_announced(struct loaded_process *p)
{
	size_t kept = 0;

	qsort(p->call, p->call_count, sizeof(*p->call), compare_announcement);
	for (size_t i = 0; i < p->call_count; i++) {
		const struct loaded_call *call = &p->call[i], *before = &p->call[i - 1];
		if (call->exit == UINT64_MAX && i && before->thread == call->thread &&
			before->enter == call->enter &&
			loader_call_number(before) == loader_call_number(call))
			continue;
		p->call[kept++] = p->call[i];
	}
	p->call_count = kept;
}

static int is_nested(const struct loaded_call *call)
{
	return call->record->flags & CALL_NESTED;
}

/*
 * A call that never returned can hold later calls only if they all were made from within it; a
 * top-level call after it says that its return was lost.
 */
static int may_hold(const struct loaded_process *p, size_t index)
{
	const struct loaded_call *call = &p->call[index];

	if (call->exit != UINT64_MAX)
		return 1;
	for (size_t i = index; i-- > 0 && p->call[i].thread == call->thread;)
		if (p->call[i].enter > call->enter && !is_nested(&p->call[i]))
			return 0;
	return 1;
}

/*
 * In order of return children come before their parent, so the calls still without one are a
 * stack.  Virtual time makes ties, which the recorder's flag decides.  Parents are indices + 1.
 */
static int find_parents(struct loaded_process *p)
{
	uint32_t *stack = malloc((p->call_count + 1) * sizeof(*stack));
	size_t depth = 0;

	if (!stack) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (size_t i = 0; i < p->call_count; i++) {
		const struct loaded_call *call = &p->call[i];
		int holds = may_hold(p, i);
		while (depth && holds) {
			struct loaded_call *top = &p->call[stack[depth - 1]];
			if (top->thread != call->thread || top->enter < call->enter ||
				(top->enter == call->enter && !is_nested(top)))
				break;
			top->parent = (uint32_t)i + 1;
			depth--;
		}
		stack[depth++] = (uint32_t)i;
	}
	free(stack);
	return 0;
}

/* A call's place in order of entry. */
struct entry_order {
	uint64_t enter;
	uint32_t rank;             /* in a walk of all call trees, parents before children */
	uint32_t index;
};

static int compare_entry(const void *a, const void *b)
{
	const struct entry_order *p = a, *q = b;

	if (p->enter != q->enter)
		return p->enter < q->enter ? -1 : 1;
	return p->rank < q->rank ? -1 : p->rank > q->rank;
}

/*
 * Ranks by a walk of the trees, so that equal times keep parents before children and siblings as
 * they returned.  Children have lower indices than their parent: one pass up sums the sizes of
 * subtrees, one pass down hands each child the last free ranks of its parent's share.
 */
static int rank_calls(const struct loaded_process *p, struct entry_order *order)
{
	uint32_t *size = calloc(p->call_count + 1, sizeof(*size));
	uint32_t *end = calloc(p->call_count + 1, sizeof(*end)); /* [0]: of the roots */

	for (size_t i = 0; size && end && i < p->call_count; i++) {
		size[i]++;
		if (p->call[i].parent)
			size[p->call[i].parent - 1] += size[i];
	}
	if (size && end)
		end[0] = (uint32_t)p->call_count;
	for (size_t i = p->call_count; size && end && i-- > 0;) {
		uint32_t last = end[p->call[i].parent];
		end[i + 1] = last;
		end[p->call[i].parent] = last - size[i];
		order[i] = (struct entry_order){ p->call[i].enter, last - size[i], (uint32_t)i };
	}
	free(size);
	free(end);
	return size && end ? 0 : -1;
}

/* Moves the calls into the order given and renumbers parents. */
static int permute(struct loaded_process *p, const struct entry_order *order)
{
	struct loaded_call *sorted = malloc((p->call_count + 1) * sizeof(*sorted));
	uint32_t *place = malloc((p->call_count + 1) * sizeof(*place));

	if (!sorted || !place) {
		free(sorted);
		free(place);
		return -1;
	}
	for (size_t i = 0; i < p->call_count; i++) {
		place[order[i].index] = (uint32_t)i;
		sorted[i] = p->call[order[i].index];
	}
	for (size_t i = 0; i < p->call_count; i++)
		if (sorted[i].parent)
			sorted[i].parent = place[sorted[i].parent - 1] + 1;
	free(place);
	free(p->call);
	p->call = sorted;
	return 0;
}

int loader_order_calls(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	struct entry_order *order;
	int rc = -1;

	if (!p->call_count)
		return 0;
	drop_announced(p);
	qsort(p->call, p->call_count, sizeof(*p->call), compare_return);
	if (find_parents(p))
		return -1;
	order = malloc(p->call_count * sizeof(*order));
	if (order && !rank_calls(p, order)) {
		qsort(order, p->call_count, sizeof(*order), compare_entry);
		rc = permute(p, order);
	}
	free(order);
	if (rc)
		fputs("cufence: out of memory\n", stderr);
	return rc;
}
