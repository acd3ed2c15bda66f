/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of host functions (RECORD_HOST_RUN). */
#include "loader.h"

#include <stdlib.h>

#include "array.h"
#include "load_accept.h"

static uint64_t key_of(uint32_t thread, uint64_t ticks)
{
	uint64_t pair[] = { thread, ticks };

	return map_hash((const char *)pair, sizeof(pair));
}

int loader_note_host_run(struct loader *loader, uint32_t thread,
	const struct host_run_record *record)
{
	struct loaded_process *p = &loader->p;
	uint64_t key = key_of(thread, record->enter);
	uint64_t known = map_get(&p->host_run_entries, key, 0);
	struct loaded_host_run *more;

	/* It has returned meanwhile. */
	if (known && p->host_run[known - 1].thread == thread &&
		p->host_run[known - 1].record->enter == record->enter) {
		p->host_run[known - 1].record = record;
		return 0;
	}
	more = array_room(p->host_run, p->host_run_count, sizeof(*more));
	if (!more)
		return -1;
	p->host_run = more;
	more[p->host_run_count++] = (struct loaded_host_run){ record, thread, 0 };
	if (record->called &&
		map_set(&p->host_calls, key_of(record->caller, record->called), p->host_run_count))
		return -1;
	return map_set(&p->host_run_entries, key, p->host_run_count);
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
