/* SPDX-License-Identifier: Apache-2.0 */
#include "loads.h"

#include <stdlib.h>

#include "memory.h"
#include "record.h"
#include "sorted.h"

void loads_release(struct loads *loads)
{
	free(loads->load);
	*loads = (struct loads){ 0 };
}

static void add(struct loads *loads, const struct walk_call *call, int64_t enter, int64_t exit)
{
	*array_push(loads->load, loads->count) =
		(struct code_load){ call->id, call->process, enter, exit, call->device };
}

void loads_process_call(struct loads *loads, const struct run *run, const struct walk_call *call)
{
	const struct run_overhead *row, *end;

	if (call->result || call->captured || call->exit == WALK_NEVER)
		return;
	if (call->is_lazy_load) {
		add(loads, call, call->enter, call->exit);
		return;
	}
	row = call->overhead && kind_has(call->kind, K_LOADS_CODE)
		? run_find(&run->overheads, call->id)
		: NULL;
	end = run_rows_end(&run->overheads);
	for (; row && row < end && row->call == call->id; row++)
		if (row->kind == OVERHEAD_LAZY_LOADING) {
			add(loads, call, row->start, row->end);
			return;
		}
}

/* Returns the number of the first load after a call. */
static size_t first_after(const struct loads *loads, int64_t call)
{
	return sorted_after(loads->load, loads->count, sizeof(*loads->load),
		offsetof(struct code_load, call), call);
}

const struct code_load *loads_after(const struct loads *loads, const struct code_load *work)
{
	for (size_t i = first_after(loads, work->call); i < loads->count; i++) {
		const struct code_load *load = &loads->load[i];

		if (load->process == work->process &&
			(load->device == work->device || load->device < 0 || work->device < 0))
			return load;
	}
	return NULL;
}

int64_t loads_time_apart(const struct loads *loads, const struct code_load *work, int64_t until)
{
	int64_t from = work->exit, sum = 0;

	for (size_t i = first_after(loads, work->call); i < loads->count; i++) {
		const struct code_load *load = &loads->load[i];

		if (load->process != work->process || load->exit <= from || load->enter >= until)
			continue;
		sum += load->enter > from ? load->enter - from : 0;
		from = load->exit;
	}
	return sum + (until > from ? until - from : 0);
}
