/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads and places are rows that each process has for itself, as they name it: none of another
 * run's is there already, and their numbers go on from the last one.
 */
#include "id_shift.h"
#include "memory.h"
#include "run_internal.h"

/* 0: none. */
static uint32_t shifted(const struct id_shift *shift, enum schema_id table, uint32_t id)
{
	return id ? (uint32_t)id_shifted(shift, (int)table, id) : 0;
}

/* The column's row after its last one, at least number; NULL: there is no space, or a message. */
static void *place(struct run *run, struct column *column, uint64_t number)
{
	run->building->left_out |= number >= column->most;
	return run->building->left_out ? NULL : column_need(column, number);
}

static int append_payloads(struct run *run, const struct run *from, const struct id_shift *shift)
{
	const struct run_payload *rows = (const struct run_payload *)from->payloads.rows;

	for (uint64_t i = 1; i < from->payloads.count; i++) {
		struct run_payload *to = place(run, &run->payloads, run->payloads.count);

		if (!to)
			return -1;
		*to = rows[i];
		to->process = shifted(shift, TABLE_process, to->process);
		to->context = shifted(shift, TABLE_context, to->context);
		to->event = shifted(shift, TABLE_event, to->event);
		to->kernel = shifted(shift, TABLE_kernel, to->kernel);
	}
	return 0;
}

static int append_calls(struct run *run, const struct run *from, const struct id_shift *shift)
{
	const struct run_call *calls = (const struct run_call *)from->calls.rows;
	const struct run_link *links = (const struct run_link *)from->links.rows;
	uint32_t payloads = (uint32_t)run->payloads.count - 1;

	if (append_payloads(run, from, shift))
		return -1;
	for (uint64_t i = 1; i < from->calls.count; i++) {
		uint64_t id = i + (uint64_t)shift->by[TABLE_call];
		struct run_call *call = place(run, &run->calls, id);
		struct run_link *link = place(run, &run->links, id);
		uint32_t type;

		if (!call || !link)
			return -1;
		*call = calls[i];
		type = shifted(shift, TABLE_call_type, call->type);
		run->building->left_out |= type > UINT16_MAX;
		call->type = (uint16_t)type;
		call->thread = shifted(shift, TABLE_thread, call->thread);
		call->stream = shifted(shift, TABLE_stream, call->stream);
		call->payload += call->payload ? payloads : 0;
		link->parent = shifted(shift, TABLE_call, links[i].parent);
		link->site = shifted(shift, TABLE_site, links[i].site);
	}
	return 0;
}

static void append_ends(struct map *ends, const struct map *from, int64_t by)
{
	for (size_t i = 0; i < from->size; i++)
		if (from->entry[i].used)
			map_set(ends, from->entry[i].key + (uint64_t)by, from->entry[i].value);
}

static void append_where(struct run *run, const struct run *from, const struct id_shift *shift)
{
	for (size_t i = run->where_count ? 1 : 0; i < from->where_count; i++) {
		struct run_where *to = array_push(run->where, run->where_count);

		*to = from->where[i];
		to->process = shifted(shift, TABLE_process, to->process);
		to->context = shifted(shift, TABLE_context, to->context);
		to->stream = shifted(shift, TABLE_stream, to->stream);
	}
}

static int append_works(struct run *run, const struct run *from, const struct id_shift *shift)
{
	const struct run_work *works = (const struct run_work *)from->works.rows;
	uint32_t wheres = run->where_count ? (uint32_t)run->where_count - 1 : 0;

	append_where(run, from, shift);
	for (uint64_t i = 1; i < from->works.count; i++) {
		struct run_work *to =
			place(run, &run->works, i + (uint64_t)shift->by[TABLE_operation]);

		if (!to)
			return -1;
		*to = works[i];
		to->call = shifted(shift, TABLE_call, to->call);
		to->where += to->where ? wheres : 0;
	}
	return 0;
}

static int append_lists(struct run *run, const struct run *from, const struct id_shift *shift)
{
	const struct run_operand *operands = (const struct run_operand *)from->operands.rows;
	const struct run_ended *launches = (const struct run_ended *)from->launches.rows;

	for (uint64_t i = 0; i < from->operands.count; i++) {
		struct run_operand *to = place(run, &run->operands, run->operands.count);

		if (!to)
			return -1;
		*to = operands[i];
		to->call = shifted(shift, TABLE_call, to->call);
		to->allocation = shifted(shift, TABLE_allocation, to->allocation);
	}
	for (uint64_t i = 0; i < from->launches.count; i++) {
		struct run_ended *to = place(run, &run->launches, run->launches.count);

		if (!to)
			return -1;
		*to = (struct run_ended){ shifted(shift, TABLE_call, launches[i].call),
			shifted(shift, TABLE_shape, launches[i].what) };
	}
	return 0;
}

int run_append(struct run *run, const struct run *from, const struct id_shift *shift)
{
	run->building->left_out |= from->building->left_out;
	append_ends(&run->long_calls, &from->long_calls, shift->by[TABLE_call]);
	append_ends(&run->long_works, &from->long_works, shift->by[TABLE_operation]);
	if (append_calls(run, from, shift) || append_works(run, from, shift) ||
		append_lists(run, from, shift))
		return run->building->left_out ? 0 : -1;
	return 0;
}
