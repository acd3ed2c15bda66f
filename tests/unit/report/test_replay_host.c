/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "replay_run.h"

SAVED(order, ORDER, LIKELY)
SAVED(outside, OUTSIDE, LIKELY)

/* us that the run takes less if all launches but the first are nodes of what it launches. */
static const char *saved_by_nodes(struct program *p, enum replay_contention contention)
{
	struct savings *savings;
	struct replay *replay = open_replay(&p->m.db, &savings);
	int64_t before = replay_run(replay, contention), after;

	for (int64_t call = 2; call <= 40; call++)
		replay_change(replay,
			&(struct changed_call){ .call = call, .change = CHANGE_NODE });
	after = replay_run(replay, contention);
	close_replay(&p->m.db, savings);
	return number_text((before - after) / 1000);
}

ANSWER(nodes)
{
	return saved_by_nodes(p, REPLAY_LIKELY);
}

ANSWER(nodes_least)
{
	return saved_by_nodes(p, REPLAY_LEAST);
}

/* us that the run takes longer, or shorter, in other circumstances. */
static const char *difference(struct program *p, enum replay_contention one,
	enum replay_contention other)
{
	struct savings *savings;
	struct replay *replay = open_replay(&p->m.db, &savings);
	int64_t time = replay_run(replay, one);

	if (one == REPLAY_RECORDED)
		assert_in_range(time, replay->measured - 1000, replay->measured + 1000);
	time -= replay_run(replay, other);
	close_replay(&p->m.db, savings);
	return number_text(time / 1000);
}

ANSWER(recorded)
{
	return difference(p, REPLAY_RECORDED, REPLAY_LIKELY);
}

ANSWER(quick)
{
	return difference(p, REPLAY_LIKELY, REPLAY_QUICK);
}

/* Of the calls that are labelled. */
#define STEPS(name, column) \
	ANSWER(name) \
	{ \
		static char text[100]; \
		struct savings *savings; \
		struct replay *replay = open_replay(&p->m.db, &savings); \
		size_t used = 0; \
		for (int i = 0; i < p->label_count; i++) \
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld", \
				i ? " " : "", \
				(long long)replay->step[replay_step_of(replay, p->label[i].call)] \
					.column); \
		close_replay(&p->m.db, savings); \
		return text; \
	}
STEPS(recorded_steps, recorded)
STEPS(delayed_steps, delayed)
STEPS(own, own)
STEPS(pinning, pinning)

/* The removed wait kept a kernel after the one whose result it reads. */
TEST(data_that_is_needed_is_waited_for_without_the_wait)
{
	for (int needed = 0; needed < 2; needed++) {
		struct program *p = calloc(1, sizeof(*p));
		struct savings *savings;
		struct replay *replay;
		int64_t before;

		program_begin(p);
		program_do(p,
			"at 10; launch n1 unknown 0.. 6=1006; free :release.7 4..1046; "
			"launch n2 unknown 1048.. 1054=2054; device_sync 1052..2057; "
			"INSERT INTO allocation (id, process, address, bytes, memory) "
			"VALUES (1, 1, 4096, 4096, 'device')");
		assert_int_equal(analyze(&p->m.db), 0);
		if (needed)
			program_do(p,
				"INSERT INTO hazard (process, rule, kind, confidence, call, "
				"other_call, allocation, low, high, via, evidence, other_evidence) "
				"VALUES (1, 'accidental-order', 'raw', 'certain', 3, 1, 1, 4096, "
				"8192, 2, 'exact', 'exact')");
		replay = open_replay(&p->m.db, &savings);
		before = replay_run(replay, REPLAY_LIKELY);
		replay_change(replay, &(struct changed_call){ .call = 2, .change = CHANGE_WAIT });
		assert_in_range(before - replay_run(replay, REPLAY_LIKELY), needed ? 0 : 940000,
			needed ? 105000 : 1060000);
		close_replay(&p->m.db, savings);
		mini_release(&p->m);
		free(p);
	}
}
