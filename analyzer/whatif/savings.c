/* SPDX-License-Identifier: Apache-2.0 */
#include "savings.h"

#include <stdio.h>
#include <stdlib.h>

#include "change.h"
#include "constants.h"
#include "idmap.h"
#include "map.h"
#include "replay.h"

struct process_savings {
	int64_t process;
	struct replay *replay;
	int64_t as_it_was[REPLAY_CONTENTIONS];
	int64_t changes; /* number of changes since the last estimate */
	uint64_t made;   /* a hash of the changes, in their order */
	struct map kept; /* made ^ contention -> saving */
	int64_t steps;   /* steps replayed so far */
	double error;    /* relative error of the unchanged replay */
	char refusal[120];
};

struct savings {
	struct db *db;
	struct replays *replays;
	struct idmap processes; /* struct process_savings */
};

static double relative_error(int64_t replayed, int64_t measured)
{
	return measured > 0 ? (double)llabs(replayed - measured) / (double)measured : 1;
}

/* Replays the unchanged run, to compare with, and measures the error. */
static void replay_unchanged(struct process_savings *process)
{
	const char *refusal = replay_refusal(process->replay);
	int64_t measured = replay_measured(process->replay);

	if (refusal) {
		snprintf(process->refusal, sizeof(process->refusal), "%s", refusal);
		return;
	}
	/* The likely one last: replay_takers() compares with it. */
	for (int i = REPLAY_CONTENTIONS; i-- > 0;)
		process->as_it_was[i] = replay_run(process->replay, (enum replay_contention)i);
	process->error = relative_error(process->as_it_was[REPLAY_RECORDED], measured);
	if (process->error > SAVINGS_MAX_ERROR_PERCENT / 100.0)
		snprintf(process->refusal, sizeof(process->refusal),
			"a replay of the run as it was takes %.0f %% %s", 100 * process->error,
			process->as_it_was[REPLAY_RECORDED] > measured ? "more" : "less");
}

static int add_processes(struct savings *savings)
{
	sqlite3_stmt *q = db_prepare(savings->db, "SELECT id FROM process ORDER BY id");
	int rc = q ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		int64_t id = sqlite3_column_int64(q, 0);
		struct replay *replay = replays_of(savings->replays, id);
		struct process_savings *process;

		rc = 0;
		if (!replay)
			continue;
		process = idmap_need(&savings->processes, id, sizeof(*process));
		rc = process ? 0 : -1;
		if (!process)
			break;
		process->process = id;
		process->replay = replay;
		replay_unchanged(process);
	}
	sqlite3_finalize(q);
	return rc;
}

struct savings *savings_open(struct db *db)
{
	struct savings *savings = calloc(1, sizeof(*savings));

	if (!savings)
		return NULL;
	savings->db = db;
	savings->replays = replays_open(db);
	if (savings->replays && !add_processes(savings))
		return savings;
	savings_close(savings);
	return NULL;
}

static void free_process(void *object)
{
	struct process_savings *process = object;

	map_release(&process->kept);
	free(process);
}

void savings_close(struct savings *savings)
{
	if (!savings)
		return;
	replays_close(savings->replays);
	idmap_release(&savings->processes, free_process);
	free(savings);
}

static void change(struct process_savings *process, const struct changed_call *changed)
{
	const uint64_t words[] = { process->made, (uint64_t)changed->call, changed->change,
		(uint64_t)changed->still_needs };

	replay_change(process->replay, changed->call, changed->change, changed->still_needs);
	process->made = map_hash_words(words, sizeof(words) / sizeof(*words));
	process->changes++;
}

void savings_change(struct savings *savings, int64_t id, const struct changed_call *changed,
	size_t count)
{
	struct process_savings *process = idmap_get(&savings->processes, id);

	if (!process || *process->refusal)
		return;
	for (size_t i = 0; i < count; i++)
		change(process, &changed[i]);
}

int savings_admit(struct savings *savings, int64_t id, int64_t call)
{
	struct process_savings *process = idmap_get(&savings->processes, id);

	return process && !*process->refusal ? replay_admit(process->replay, call) : 0;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int savings_has_room(const struct savings *savings, int64_t id)
{
	const struct process_savings *process = idmap_get(&savings->processes, id);

	return process && !*process->refusal && process->steps < ROOM_STEPS;
}

static int64_t replay_saved(struct process_savings *process, enum replay_contention contention)
{
	int64_t saved = process->as_it_was[contention] - replay_run(process->replay, contention);

	process->steps += (int64_t)replay_size(process->replay);
	/* When out of memory it is replayed again. */
	map_set(&process->kept, process->made ^ (uint64_t)contention, (uint64_t)saved);
	return saved;
}

/* Returns the saving, ns; negative if the run takes longer. */
static int64_t saved(struct process_savings *process, enum replay_contention contention)
{
	uint64_t unknown = (uint64_t)INT64_MIN;
	uint64_t kept = map_get(&process->kept, process->made ^ (uint64_t)contention, unknown);

	return kept == unknown ? replay_saved(process, contention) : (int64_t)kept;
}

static int64_t best_of(const struct process_savings *process, int64_t saved)
{
	return clamp(saved, 0, replay_measured(process->replay));
}

static int64_t saved_best(struct process_savings *process)
{
	return best_of(process, saved(process, REPLAY_LIKELY));
}

static void restore(struct process_savings *process)
{
	replay_restore(process->replay);
	process->changes = 0;
	process->made = 0;
}

int savings_estimate_best(struct savings *savings, int64_t id, int64_t *best)
{
	struct process_savings *process = idmap_get(&savings->processes, id);

	if (!process || *process->refusal || !process->changes)
		return 0;
	*best = saved_best(process);
	restore(process);
	return 1;
}

/*
 * Changes the calls that would wait instead, and those that would wait instead of them, until none
 * is left.
 */
static size_t change_takers(struct process_savings *process, struct changed_call *taker,
	size_t most, int64_t *saving)
{
	struct replay_taker found[TAKER_ROUND];
	size_t count = 0, more;

	for (int round = 0; round < TAKER_ROUNDS; round++) {
		more = replay_takers(process->replay, found, TAKER_ROUND);
		if (!more || count + more > most)
			return count;
		for (size_t i = 0; i < more; i++) {
			taker[count++] = (struct changed_call){ .call = found[i].call,
				.change = CHANGE_WAIT };
			change(process, &taker[count - 1]);
		}
		*saving = best_of(process, replay_saved(process, REPLAY_LIKELY));
	}
	return count;
}

size_t savings_find_takers(struct savings *savings, int64_t id, struct changed_call *taker,
	size_t most)
{
	struct process_savings *process = idmap_get(&savings->processes, id);
	int64_t alone, together, least;
	size_t count;

	if (!process || *process->refusal || !process->changes)
		return 0;
	/* The last replay shows the calls that would wait instead. */
	alone = together = best_of(process, replay_saved(process, REPLAY_LIKELY));
	count = change_takers(process, taker, most, &together);
	restore(process);
	least = replay_measured(process->replay) * FINDING_MIN_PERCENT / 100;
	return together - alone >= least && together > JOINED_FACTOR * alone ? count : 0;
}

int savings_estimate_ceiling(struct savings *savings, int64_t id, int results,
	const struct loop_span *loop, struct ceiling *ceiling)
{
	struct process_savings *process = idmap_get(&savings->processes, id);

	if (!process || *process->refusal)
		return 0;
	if (results) {
		replay_change_results(process->replay);
		process->made = ~process->made;
	}
	/* Not a kept one: replay_blocked() is about the last run. */
	ceiling->saving = best_of(process, replay_saved(process, REPLAY_LIKELY));
	ceiling->blocked = replay_blocked(process->replay, loop->thread, loop->start, loop->until);
	restore(process);
	return 1;
}

/* Returns how much of the saving depends on the speed of the host, ns. */
static int64_t by_host(struct process_savings *process, int64_t best)
{
	if (process->as_it_was[REPLAY_QUICK] == process->as_it_was[REPLAY_LIKELY])
		return 0;
	return llabs(best - saved(process, REPLAY_QUICK));
}

int savings_estimate(struct savings *savings, int64_t id, struct saving *saving)
{
	struct process_savings *process = idmap_get(&savings->processes, id);
	int64_t error, measured;
	double share;

	if (!process || *process->refusal || !process->changes)
		return 0;
	measured = replay_measured(process->replay);
	share = LEAST_ERROR_PERCENT / 100.0;
	if (process->error > share)
		share = process->error;
	saving->best = saved_best(process);
	error = (int64_t)(share * (double)saving->best) + CHANGE_ERROR_NS * process->changes +
		by_host(process, saving->best);
	if (error > saving->best / SAVING_ERROR_PART)
		error = saving->best / SAVING_ERROR_PART;
	saving->low = clamp(saved(process, REPLAY_MOST), 0, saving->best) - error;
	saving->low = clamp(saving->low, 0, saving->best);
	saving->high = clamp(saved(process, REPLAY_LEAST), saving->best, measured) + error;
	restore(process);
	return 1;
}

int savings_store(struct savings *savings)
{
	sqlite3_stmt *insert = db_prepare(savings->db,
		"INSERT INTO replay (process, measured, replayed, refusal) VALUES (?, ?, ?, ?)");
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < savings->processes.size && !rc; i++) {
		const struct process_savings *process = savings->processes.slot[i].object;

		if (process)
			rc = db_run(insert, "iiIs", process->process,
				replay_measured(process->replay),
				replay_refusal(process->replay)
					? DB_NULL
					: process->as_it_was[REPLAY_RECORDED],
				*process->refusal ? process->refusal : NULL);
	}
	sqlite3_finalize(insert);
	return rc;
}
