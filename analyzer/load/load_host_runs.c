/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of host functions (RECORD_HOST_RUN). */
#include "loader.h"

#include <stdlib.h>

#include "array.h"
#include "load_accept.h"

static uint64_t key_of(uint32_t thread, uint64_t ticks)
{
	uint64_t pair[] = { thread, ticks };

	return map_hash_words(pair, 2);
}

/* Of what does not change when a run returns. */
static uint64_t key_of_run(uint32_t thread, const struct host_run_record *record)
{
	uint64_t words[] = { thread, record->enter, record->caller, record->called,
		record->function, record->data };

	return map_hash_words(words, sizeof(words) / sizeof(*words));
}

/* A run that had begun, and had returned when it was recorded again. */
static struct loaded_host_run *begun(struct loaded_process *p, uint64_t key)
{
	uint64_t number = p->open_host_runs.count ? map_get(&p->open_host_runs, key, 0) : 0;

	return number && !p->host_run[number - 1].record->exit ? &p->host_run[number - 1] : NULL;
}

int loader_note_host_run(struct loader *loader, uint32_t thread,
	const struct host_run_record *record)
{
	struct loaded_process *p = &loader->p;
	uint64_t key = key_of_run(thread, record);
	struct loaded_host_run *known = begun(p, key), *more;

	if (known) {
		known->record = record;
		return 0;
	}
	more = array_room(p->host_run, p->host_run_count, sizeof(*more));
	if (!more)
		return -1;
	p->host_run = more;
	more[p->host_run_count++] = (struct loaded_host_run){ record, thread, 0 };
	if (!record->exit && map_set(&p->open_host_runs, key, p->host_run_count))
		return -1;
	return record->called ? map_set(&p->host_calls, key_of(record->caller, record->called),
					p->host_run_count)
			      : 0;
}

void loader_take_host_run(struct loader *loader, const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	uint32_t tid = p->thread[call->thread - loader->thread - 1].tid;
	uint64_t number = map_get(&p->host_calls, key_of(tid, call->enter), 0);

	if (!number || call->failed)
		return;
	if (p->host_run[number - 1].record->caller == tid &&
		p->host_run[number - 1].record->called == call->enter)
		p->host_run[number - 1].call = call->number;
}

int loader_write_host_runs(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->host_run_count; i++) {
		const struct loaded_host_run *run = &p->host_run[i];
		const struct host_run_record *record = run->record;
		int64_t exit = DB_NULL;

		if (!loader_accept_host_run(loader, record))
			continue;
		if (record->exit)
			exit = loader_host_time(loader, record->exit);
		if (db_run(loader->insert[INSERT_HOST_RUN], "iiIiIii", loader->process,
			    (int64_t)run->thread,
			    run->call ? loader->call + run->call : DB_NULL,
			    loader_host_time(loader, record->enter), exit,
			    (int64_t)record->function, (int64_t)record->data))
			return -1;
	}
	return 0;
}
