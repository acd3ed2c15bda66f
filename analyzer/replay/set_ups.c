/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <stdlib.h>

#include "ids.h"
#include "map.h"
#include "memory.h"

struct search {
	const struct run *run;
	struct set_ups *set_ups;
	struct map lines; /* site -> number of its line, from 1 on */
	struct map codes; /* kernel -> number of its code, from 1 on */
	struct map last;  /* line -> its last set-up that loaded code */
	/* Of the current thread. */
	struct set_up now; /* its current row of calls; line 0: none */
	uint32_t first;    /* call of that */
	uint32_t fresh;    /* the last set-up that loaded code, without a launch since; 0: none */
	uint32_t *open;    /* a set-up for each module that is not unloaded yet */
	size_t open_count;
};

/* Ends the current row of calls, which is kept if it loads or unloads code. */
static void end_row(struct search *search)
{
	struct set_up *now = &search->now, *list;
	uint32_t number = (uint32_t)search->set_ups->count;

	if (now->loads || now->unloads) {
		*array_push(search->set_ups->list, search->set_ups->count) = *now;
		list = search->set_ups->list;
		for (int i = 0; i < now->unloads && search->open_count; i++) {
			uint32_t of = search->open[--search->open_count];

			if (!--list[of].loaded)
				list[of].ended_by = number;
			if (!now->loads)
				list[number].line = list[of].line;
		}
		for (int i = 0; i < now->loads; i++)
			*array_push(search->open, search->open_count) = number;
		if (now->loads)
			search->fresh = number;
	}
	*now = (struct set_up){ 0 };
}

/* The launch shows which code was loaded: is it that of the line's set-up before, which ended? */
static void see_code(struct search *search, uint32_t kernel)
{
	struct set_up *list = search->set_ups->list, *fresh = &list[search->fresh], *before;
	uint64_t code = map_get(&search->codes, kernel, 0);

	if (!search->fresh)
		return;
	fresh->code = code ? map_hash_next(fresh->code, code) : 0;
	before = &list[map_get(&search->last, fresh->line, 0)];
	if (fresh->code && before->code == fresh->code && before->ended_by) {
		fresh->is_repeated = 1;
		list[before->ended_by].is_repeated = 1;
	}
	map_set(&search->last, fresh->line, search->fresh);
	search->fresh = 0;
}

/* Does it copy into memory that the row of calls made and that is freed, or into a variable? */
static int fills_tables(const struct search *search, const struct run_call *call, uint32_t id)
{
	const struct run_operand *operand = run_find(&search->run->operands, id);
	int fills = 0;

	if (!search->now.line || !call_is_copy(call->kind))
		return 0;
	for (; operand; operand = run_next(&search->run->operands, operand)) {
		const struct run_allocation *to = run_allocation(search->run, operand->allocation);

		if (operand->role != OPERAND_DST)
			continue;
		fills = run_is_variable(search->run, operand->allocation) ||
			(to->created >= search->first && to->created <= id && to->freed);
	}
	return fills;
}

/* Adds an outermost call with those that it makes.  Returns the thread's next outermost call. */
static uint32_t add_call(struct search *search, uint32_t id)
{
	const struct run *run = search->run;
	const struct run_call *outer = run_call(run, id), *call = outer;
	uint32_t line = (uint32_t)map_get(&search->lines, run_link(run, id)->site, 0), at = id;
	struct set_up *now = &search->now;
	int64_t exit = run_exit(run, outer, id);
	uint64_t code = 0;
	int loads = 0, unloads = 0, works = exit == RUN_NEVER;

	if (line != now->line)
		end_row(search);
	if (!now->line) {
		search->first = id;
		*now = (struct set_up){ .thread = outer->thread,
			.line = line,
			.from = outer->enter };
	}
	do {
		enum call_kind kind = (enum call_kind)call->kind;
		const struct run_payload *payload = run_payload(run, call);

		loads += kind == KIND_MODULE_LOAD && !payload->result;
		unloads += kind == KIND_MODULE_UNLOAD && !payload->result;
		code = map_hash_next(code, (uint64_t)payload->bytes);
		if (call_is_wait(kind) ||
			(kind_has(kind, K_WORK) && !fills_tables(search, call, at)))
			works = 1;
		if (kind_family(kind) == FAMILY_launch) {
			end_row(search);
			see_code(search, payload->kernel);
		}
		at = run_link(run, at)->next;
		call = run_call(run, at);
	} while (call && run_call(run, run_link(run, at)->parent));
	if (works || !line) {
		end_row(search);
		return at;
	}
	now->until = exit;
	now->loads += loads;
	now->unloads += unloads;
	now->loaded = (uint32_t)now->loads;
	now->code = map_hash_next(now->code, code);
	return at;
}

int set_ups_find(struct set_ups *set_ups, const struct run *run, struct db *db)
{
	struct search search = { .run = run, .set_ups = set_ups };
	int rc = 0, unloads = 0;

	for (uint32_t id = 1; id < run_call_end(run) && !unloads; id++)
		unloads = run_call(run, id) && run_call(run, id)->kind == KIND_MODULE_UNLOAD;
	if (!unloads)
		return 0;
	rc = ids_read(&search.lines, db,
		     "SELECT id, dense_rank() OVER (ORDER BY process, file, text) FROM site"
		     " WHERE text NOT NULL",
		     0) ||
			ids_read(&search.codes, db,
				"SELECT k.id, dense_rank() OVER (ORDER BY k.mangled, max(i.hash))"
				" FROM kernel k LEFT JOIN kernel_image i ON i.kernel = k.id"
				" GROUP BY k.id HAVING count(i.hash) < 2",
				0)
		? -1
		: 0;
	for (size_t i = 0; i < search.lines.size; i++)
		if (search.lines.entry[i].used && set_ups->lines <= search.lines.entry[i].value)
			set_ups->lines = search.lines.entry[i].value + 1;
	*array_push(set_ups->list, set_ups->count) = (struct set_up){ 0 };
	for (size_t i = 1; i < run->thread_count && !rc; i++) {
		search.open_count = search.fresh = 0;
		for (uint32_t id = run->thread[i].first; run_call(run, id);)
			id = add_call(&search, id);
		end_row(&search);
	}
	map_release(&search.lines);
	map_release(&search.codes);
	map_release(&search.last);
	free(search.open);
	return rc;
}
