/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of the call labelled "call" saves, in us, rounded. */
#ifndef CUFENCE_TESTS_REPLAY_RUN_H
#define CUFENCE_TESTS_REPLAY_RUN_H

#include "program_text.h"

#include "handovers.h"
#include "replay.h"
#include "run_columns.h"
#include "savings.h"

/* The last one of a label, 0: none. */
static inline int64_t labelled(const struct program *p, const char *label)
{
	for (int i = p->label_count - 1; i >= 0; i--)
		if (!strcmp(p->label[i].text, label))
			return p->label[i].call;
	return 0;
}

static inline int64_t number_of(struct db *db, const char *sql, int64_t row)
{
	char text[256];

	snprintf(text, sizeof(text), sql, (long long)row);
	return db_int(db, text, 0);
}

#define OF_WAIT(what) number_of(db, "SELECT " what " FROM wait WHERE id = %lld", row)
#define OF_HOLD(what) number_of(db, "SELECT " what " FROM hold WHERE rowid = %lld", row)

/* The run in columns, with the evidence that analyze() left in the tables. */
static inline struct replay *open_replay(struct db *db, struct savings **savings)
{
	struct run_evidence *evidence;

	db->run = run_open(db);
	assert_non_null(db->run);
	evidence = &db->run->evidence;
	for (int64_t row = 1; row <= db_int(db, "SELECT max(id) FROM wait", 0); row++)
		run_add_wait(evidence,
			&(struct run_wait){ .call = (uint32_t)OF_WAIT("call"),
				.op = (uint32_t)OF_WAIT("op"),
				.behind = (uint32_t)OF_WAIT("behind"),
				.kind = OF_WAIT("kind = 'staged'") ? WAIT_STAGED : WAIT_EXPLICIT,
				.waited = OF_WAIT("waited") });
	for (int64_t row = 1; row <= db_int(db, "SELECT max(rowid) FROM hold", 0); row++) {
		int is_order = OF_HOLD("reason IN ('legacy', 'event')") != 0;

		run_add_hold(evidence,
			&(struct run_hold){ .op = (uint32_t)OF_HOLD("op"),
				.behind = (uint32_t)OF_HOLD("behind"),
				.via = (uint32_t)OF_HOLD("via"),
				.reason = is_order ? HOLD_LEGACY : HOLD_UNKNOWN });
	}
	assert_int_equal(handovers_find(db), 0);
	*savings = savings_open(db);
	assert_non_null(*savings);
	return id_map_get(&(*savings)->processes, 1);
}

static inline void close_replay(struct db *db, struct savings *savings)
{
	savings_close(savings);
	run_close(db->run);
	db->run = NULL;
}

static inline const char *number_text(int64_t number)
{
	static char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	return text;
}

static inline const char *saved(struct program *p, unsigned change,
	enum replay_contention contention)
{
	struct savings *savings;
	struct replay *replay = open_replay(&p->m.db, &savings);
	int64_t before, after;

	assert_null(replay->refusal);
	before = replay_run(replay, REPLAY_RECORDED);
	assert_in_range(before, replay->measured - 2000, replay->measured + 2000);
	before = replay_run(replay, contention);
	replay_change(replay,
		&(struct changed_call){ .call = labelled(p, "call"),
			.still_needs = labelled(p, "needed"),
			.change = change });
	after = replay_run(replay, contention);
	replay_restore(replay);
	assert_int_equal(replay_run(replay, contention), before);
	close_replay(&p->m.db, savings);
	return number_text((before - after + (before > after ? 500 : -500)) / 1000);
}

#define SAVED(name, change, contention) \
	ANSWER(name) \
	{ \
		return saved(p, CHANGE_##change, REPLAY_##contention); \
	}

#endif
