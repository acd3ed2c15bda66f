/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy-loading: a launch in the midst of the work loaded code.  "Lazy Loading delays loading of
 * CUDA modules and kernels from program initialization closer to kernels execution" (CUDA
 * programming guide, "Lazy Loading"), where its time counts as the work's, and the device may have
 * to become idle first.
 *
 * Any first launch does that, and once per kernel it has to happen somewhere.  So a load counts
 * only at a line that loads in many of its rounds, if the launch waited for other work or the line
 * had launched before; not if it can be a warm-up: up to the context's first explicit wait, or
 * where the same kernel is launched from elsewhere later.
 *
 * Where each round loads or unloads a module, that is why its kernels are not loaded yet.  If this
 * waited for the device, and longer than the loading took, it is blocking-module's to tell.
 */
#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "idmap.h"
#include "kinds.h"
#include "loads_late.h"
#include "pass_waits.h"
#include "run_columns.h"

struct place {
	int64_t launches, loads;
	int64_t last;              /* launch */
	int64_t in_rounds, waited; /* ns loaded in rounds that waited for a module, and that */
};

/* Where a module's load or unload waited. */
struct module_wait {
	int64_t call, ns;
};

/* A launch that loaded its kernel. */
struct loading {
	struct instance instance;
	const struct place *at;
	int used_elsewhere, in_round;
};

struct search {
	struct findings *findings;
	struct loading *loading;
	size_t count;
	struct idmap kernels;       /* size_t: of kernels, 1 + index of their last loading */
	struct idmap places;        /* struct place, of those that launched */
	struct module_wait *module; /* in order of calls */
	size_t module_count;
	int64_t last_end; /* of the kernels launched so far */
};

/* clang-format off */
static const char waited_sql[] =
	"w.kind = 'internal' AND " IS_LAUNCH("t") " AND " LOADS_LATE("c")
	" AND c.site IN " LOADING_PLACES;
/* clang-format on */

static const char any_sql[] =
	"SELECT EXISTS (SELECT 1 FROM overhead v CROSS JOIN call c ON c.id = v.call "
	"WHERE " LOADS_LATE("c") ")";

/* When code was loaded, but for those that waited. */
static const char loads_sql[] =
	"SELECT v.call, min(v.start), max(v.end) FROM overhead v "
	"CROSS JOIN call c ON c.id = v.call WHERE " LOADS_LATE("c")
	" AND NOT EXISTS (SELECT 1 FROM wait w WHERE w.call = c.id) "
	" AND NOT EXISTS (SELECT 1 FROM hold h WHERE h.via = c.id AND h.reason = 'load') "
	"GROUP BY v.call ORDER BY v.call";

static const char modules_sql[] =
	"SELECT w.call, w.avoidable FROM wait w CROSS JOIN call c ON c.id = w.call "
	"CROSS JOIN call_type t ON t.id = c.type WHERE " IS_OF_FAMILY("t", "module") " "
	"AND w.kind = 'implicit' AND w.avoidable > 0 ORDER BY w.call";

static int read_modules(struct search *search, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, modules_sql);
	int rc = q ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		struct module_wait *more =
			array_room(search->module, search->module_count, sizeof(*more));

		rc = more ? 0 : -1;
		if (!more)
			break;
		search->module = more;
		more[search->module_count++] = (struct module_wait){ sqlite3_column_int64(q, 0),
			sqlite3_column_int64(q, 1) };
	}
	sqlite3_finalize(q);
	return rc;
}

/* Waits for modules between two calls, ns. */
static int64_t waited_between(const struct search *search, int64_t from, int64_t to)
{
	size_t low = 0, high = search->module_count;
	int64_t ns = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (search->module[middle].call <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < search->module_count && search->module[low].call < to; low++)
		ns += search->module[low].ns;
	return ns;
}

/* A kernel is loaded once more where its module is. */
static void note_use(struct search *search, int64_t kernel, const struct place *at)
{
	const size_t *number = idmap_get(&search->kernels, kernel);

	if (number && search->loading[*number - 1].at != at)
		search->loading[*number - 1].used_elsewhere = 1;
}

static int add_loading(struct search *search, const struct loading *loading, int64_t kernel)
{
	struct loading *more = array_room(search->loading, search->count, sizeof(*more));
	size_t *number = idmap_need(&search->kernels, kernel, sizeof(*number));

	if (more)
		search->loading = more;
	if (!more || !number)
		return -1;
	search->loading[search->count++] = *loading;
	*number = search->count;
	return 0;
}

/* What the device did meanwhile is not lost. */
static int64_t idle_part(const struct search *search, int64_t start, int64_t end)
{
	int64_t from = search->last_end > start ? search->last_end : start;

	return end > from ? end - from : 0;
}

/* The last end of a call's operations, 0: none is known. */
static int64_t last_end(const struct run *run, const struct run_call *call)
{
	uint32_t id = call->last_work;
	int64_t last = INT64_MIN;

	while (id) {
		const struct run_work *work = run_work(run, id);
		int64_t end = run_end(run, work, id);

		if (end != RUN_NEVER && end > last)
			last = end;
		id = work->next == call->last_work ? 0 : work->next;
	}
	return last == INT64_MIN ? 0 : last;
}

/* start, end: when it loaded code; 0: it did not. */
static int take_launch(struct search *search, const struct run *run, uint32_t call, int64_t start,
	int64_t end)
{
	const struct run_call *row = run_call(run, call);
	const struct run_payload *payload = run_payload(run, row);
	int64_t op_end = last_end(run, row), waited;
	int64_t place = findings_place(search->findings, call);
	struct place *at = place < 0 ? NULL : idmap_need(&search->places, place, sizeof(*at));
	struct loading loading = {
		.instance = { .rule = RULE_lazy_loading,
			.call = call,
			.cost = end - start,
			.process = payload->process,
			.saving = idle_part(search, start, end) },
		.at = at,
	};

	if (!at)
		return -1;
	if (op_end > search->last_end)
		search->last_end = op_end;
	waited = at->launches++ && end ? waited_between(search, at->last, call) : 0;
	at->loads += end != 0;
	at->last = call;
	note_use(search, payload->kernel, at);
	if (at->launches == 1 || !end)
		return 0;
	if (waited) {
		loading.in_round = 1;
		at->in_rounds += loading.instance.saving;
		at->waited += waited;
	}
	return add_loading(search, &loading, payload->kernel);
}

static int counts(const struct loading *loading)
{
	const struct place *at = loading->at;

	return !loading->used_elsewhere && loading->instance.saving > 0 &&
		!(loading->in_round && at->waited > at->in_rounds) &&
		at->launches <= LOADS_PART * at->loads;
}

static int is_launch(const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);

	return call && kind_family(call->kind) == FAMILY_launch && call->flags & CALL_RETURNED &&
		!run_payload(run, call)->result && run_payload(run, call)->kernel;
}

/* All launches in order, beside the rows of those that loaded code. */
static int take_launches(struct search *search, const struct run *run, sqlite3_stmt *loads)
{
	int more = db_step(loads), rc = 0;

	for (uint32_t id = 1; !rc && more >= 0 && id < run_call_end(run); id++) {
		int loaded = 0;

		while (more > 0 && sqlite3_column_int64(loads, 0) < id)
			more = db_step(loads);
		loaded = more > 0 && sqlite3_column_int64(loads, 0) == id;
		if (is_launch(run, id))
			rc = take_launch(search, run, id,
				loaded ? sqlite3_column_int64(loads, 1) : 0,
				loaded ? sqlite3_column_int64(loads, 2) : 0);
	}
	return rc || more < 0 ? -1 : 0;
}

static int find_in_loops(struct db *db, struct findings *findings)
{
	struct search search = { .findings = findings, .last_end = INT64_MIN };
	sqlite3_stmt *q = db_prepare(db, loads_sql);
	int rc = !q || read_modules(&search, db) || take_launches(&search, db->run, q) ? -1 : 0;

	for (size_t i = 0; i < search.count && !rc; i++)
		if (counts(&search.loading[i]))
			rc = findings_add(findings, &search.loading[i].instance);
	sqlite3_finalize(q);
	idmap_release(&search.kernels, free);
	idmap_release(&search.places, free);
	free(search.loading);
	free(search.module);
	return rc;
}

static int run(struct db *db, struct findings *findings)
{
	if (!db_int(db, any_sql, 0))
		return 0;
	if (pass_add_waits(db, findings, RULE_lazy_loading, waited_sql))
		return -1;
	return find_in_loops(db, findings);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" took ", out);
	words_time(worst->cost, out);
	fputs(" to load the code of ", out);
	if (words_operation(words, worst->call, out))
		return -1;
	if (!worst->other_call)
		return 0;
	fputs(", and waited for ", out);
	return words_operation(words, worst->other_call, out);
}

const struct pass pass_lazy_loading = { .run = run, .say = say };
