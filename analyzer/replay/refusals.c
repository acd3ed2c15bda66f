/* SPDX-License-Identifier: Apache-2.0 */
#include "refusals.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "constants.h"
#include "losses.h"
#include "memory.h"
#include "order_loss.h"
#include "run_columns.h"

/* --- devices that several processes used --- */

/* What a process did on a device, from its first start to its last end. */
struct use {
	int64_t process, device;
	int64_t first, last; /* ns */
	char *place;         /* NULL: unknown */
};

struct uses {
	struct use *use;
	size_t count;
	struct map numbers; /* process and device -> index + 1 */
};

static struct use *find_use(const struct uses *uses, int64_t process, int64_t device)
{
	uint64_t at = map_get(&uses->numbers, (uint64_t)process << 32 | (uint32_t)device, 0);

	return at ? &uses->use[at - 1] : NULL;
}

static struct use *need_use(struct uses *uses, int64_t process, int64_t device)
{
	struct use *use = find_use(uses, process, device);

	if (use)
		return use;
	use = array_push(uses->use, uses->count);
	*use = (struct use){ process, device, INT64_MAX, INT64_MIN, NULL };
	map_set(&uses->numbers, (uint64_t)process << 32 | (uint32_t)device, uses->count);
	return use;
}

static void collect_uses(struct uses *uses, const struct run *run)
{
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_where *where = work ? run_where(run, work) : NULL;
		int64_t end = work ? run_end(run, work, id) : RUN_NEVER;
		struct use *use = work ? need_use(uses, where->process, where->device) : NULL;

		if (!use)
			continue;
		use->first = at_most(work->start, use->first);
		if (end != RUN_NEVER)
			use->last = at_least(end, use->last);
	}
}

/* By where devices sit, if that is known: CUDA_VISIBLE_DEVICES changes ordinals. */
static int read_places(struct uses *uses, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT process, ordinal, group_concat(value) FROM "
		"(SELECT * FROM device_attribute WHERE name IN ('pci_domain_id', 'pci_bus_id', "
		" 'pci_device_id') ORDER BY name) GROUP BY 1, 2");
	int step = q ? 0 : -1;

	while (q && (step = db_step(q)) > 0) {
		struct use *use =
			find_use(uses, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));

		if (use && !use->place && sqlite3_column_type(q, 2) != SQLITE_NULL)
			use->place = xstrdup(db_text(q, 2));
	}
	sqlite3_finalize(q);
	return step;
}

static int is_same_device(const struct use *a, const struct use *b)
{
	return a->place && b->place ? !strcmp(a->place, b->place) : a->device == b->device;
}

static int find_shared(struct refusals *refusals, const struct run *run)
{
	struct uses uses = { 0 };
	int rc;

	collect_uses(&uses, run);
	rc = read_places(&uses, refusals->db);
	for (size_t i = 0; i < uses.count; i++) {
		const struct use *a = &uses.use[i];

		map_set(&refusals->worked, (uint64_t)a->process, 1);
		for (size_t k = 0; k < uses.count; k++) {
			const struct use *b = &uses.use[k];

			if (a->process != b->process && b->first < a->last && a->first < b->last &&
				is_same_device(a, b))
				map_set(&refusals->shared, (uint64_t)a->process, 1);
		}
	}
	for (size_t i = 0; i < uses.count; i++)
		free(uses.use[i].place);
	free(uses.use);
	map_release(&uses.numbers);
	return rc;
}

/* --- reasons --- */

/* A reason, and a query of process ?1: it applies if the value is at least that. */
static const struct {
	const char *reason;
	int least;
	const char *sql;
} queries[] = {
	{ "a part of the run was not recorded", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason IN ("
#define LOSS(reason, effect, calls, work, numbers, found, text) LOSS_IF_##work(reason)
#include "losses.def"
		LOSS_NONE "))" },
	{ "its order was not analyzed to the end", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason = "
		"'" ORDER_LOSS "')" },
	/* Their kernels stretch those of this process. */
	{ "other programs computed on the device at the same time", OTHER_USE_MIN_PERCENT,
		/* +: the operations are read only if there was other use at all. */
		"SELECT max(busy) FROM other_use WHERE process = ?1 AND +device IN "
		"(SELECT device FROM work WHERE process = ?1)" },
};

int refusals_find(struct refusals *refusals, struct db *db)
{
	*refusals = (struct refusals){ .db = db };
	return find_shared(refusals, db->run);
}

void refusals_release(struct refusals *refusals)
{
	map_release(&refusals->worked);
	map_release(&refusals->shared);
}

int refusals_of(const struct refusals *refusals, int64_t process, const char **reason)
{
	int rc = 0;

	*reason = map_get(&refusals->worked, (uint64_t)process, 0)
		? NULL
		: "no operation of the device was recorded";
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries) && !rc && !*reason; i++) {
		sqlite3_stmt *q = db_prepare(refusals->db, queries[i].sql);

		rc = !q || db_bind(q, "i", process) || db_step(q) < 0 ? -1 : 0;
		if (!rc && sqlite3_column_int(q, 0) >= queries[i].least)
			*reason = queries[i].reason;
		sqlite3_finalize(q);
	}
	if (!*reason && map_get(&refusals->shared, (uint64_t)process, 0))
		*reason = "several processes used the device at the same time";
	return rc;
}
