/* SPDX-License-Identifier: Apache-2.0 */
#include "unknown.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "run_internal.h"

/* A process that did not close its trace, by id. */
struct run_death {
	uint32_t process;
	uint32_t recorded; /* the last call with a record, 0: none */
	int64_t calls;     /* that are unknown */
	int64_t since;     /* as unknown_since() */
};

static struct run_death *death_of(const struct run *run, const struct run_call *call)
{
	uint32_t process = run_payload(run, call)->process;
	uint64_t number = map_get(&run->died, process, 0);

	return number ? &run->death[number - 1] : NULL;
}

/* Does CUPTI record an operation of such a call? */
static int is_recorded(const struct run *run, const struct run_call *call, uint32_t id)
{
	const struct run_payload *payload = run_payload(run, call);
	int family = kind_family(call->kind);

	if (!kind_has(call->kind, K_WORK) || kind_has(call->kind, K_SILENT) || payload->result ||
		call->stream >= run->stream_count || run_object(run, id, OBJECT_CAPTURED))
		return 0;
	return (family != FAMILY_copy && family != FAMILY_set) || !payload->has_bytes ||
		payload->bytes;
}

static void set_flags(struct run *run, const uint32_t *latest)
{
	struct run_call *calls = (struct run_call *)run->calls.rows;

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		struct run_death *death = call && !call->last_work ? death_of(run, call) : NULL;

		if (!death || !is_recorded(run, call, id) || id < latest[call->stream])
			continue;
		calls[id].flags |= CALL_UNKNOWN;
		/* A call in progress may not have submitted anything. */
		if (!(call->flags & CALL_RETURNED))
			continue;
		death->calls++;
		if (death->since == RUN_NEVER && id > death->recorded)
			death->since = call->enter;
	}
}

int unknown_find(struct run *run, struct db *db)
{
	uint32_t *latest;

	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "process",
		"SELECT id FROM process WHERE NOT closed AND cupti = 'on'");

	while (rc >= 0 && (rc = run_reader_next(&reader)) > 0) {
		*array_push(run->death, run->death_count) = (struct run_death){
			.process = run_reader_id(&reader, 0),
			.since = RUN_NEVER,
		};
		map_set(&run->died, run_reader_id(&reader, 0), run->death_count);
	}
	run_reader_close(&reader);
	if (rc)
		return -1;
	if (!run->death_count)
		return 0;
	latest = xcalloc(run->stream_count + 1, sizeof(*latest));
	/* latest: by stream, its last call with a record. */
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		struct run_death *death = call && call->last_work ? death_of(run, call) : NULL;

		if (!death)
			continue;
		death->recorded = id;
		if (call->stream < run->stream_count)
			latest[call->stream] = id;
	}
	set_flags(run, latest);
	free(latest);
	return 0;
}

int64_t unknown_since(const struct run *run, int64_t process)
{
	uint64_t number = map_get(&run->died, (uint64_t)process, 0);

	return number ? run->death[number - 1].since : RUN_NEVER;
}

int unknown_store(struct db *db)
{
	const struct run *run = db->run;
	sqlite3_stmt *insert;
	int rc = 0;

	if (!run->death_count)
		return 0;
	insert = db_prepare(db,
		"INSERT INTO loss SELECT id, CASE WHEN ?2 THEN '" UNKNOWN_LOSS
		"' ELSE "
		"'" UNKNOWN_ALL_LOSS
		"' END, CASE WHEN ?2 THEN max(1, end - ?3) ELSE ?4 END "
		"FROM process WHERE id = ?1");
	for (size_t i = 0; i < run->death_count && insert && !rc; i++) {
		const struct run_death *death = &run->death[i];

		if (death->since != RUN_NEVER)
			rc = db_run(insert, "iiii", (int64_t)death->process,
				(int64_t)death->recorded, death->since, death->calls);
	}
	sqlite3_finalize(insert);
	return insert ? rc : -1;
}
