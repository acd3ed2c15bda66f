/* SPDX-License-Identifier: Apache-2.0 */
/* What a seed does: the same to the same calls, within limits, whatever else a program calls. */
#include "miniature.h"

#include "constants.h"
#include "memory.h"
#include "shake_plan.h"

enum { SEEDS = 200, CALLS = 12, BUDGET = 1000000000 };

static void calls_make(struct shake_calls *calls, size_t count)
{
	*calls = (struct shake_calls){ .call = xcalloc(count, sizeof(*calls->call)) };
	for (size_t i = 0; i < count; i++)
		calls->call[calls->count++] =
			(struct shake_call){ .place = { .place = 77 + i * 1000003,
						     .call = (uint32_t)(i % 3) },
				.count = (uint32_t)(1 + i * i),
				.is_query = i % 4 == 3,
				.text = xprintf("call %zu", i) };
}

static int is_same(const struct shake_action *one, const struct shake_action *other)
{
	return one->place.place == other->place.place && one->place.call == other->place.call &&
		one->ordinal == other->ordinal && one->answers == other->answers &&
		one->ns == other->ns;
}

static int has(const struct hold_plan *plan, const struct shake_action *action)
{
	for (uint32_t i = 0; i < plan->actions; i++)
		if (is_same(&plan->action[i], action))
			return 1;
	return 0;
}

static const struct shake_call *call_of(const struct shake_calls *calls,
	const struct shake_action *action)
{
	for (size_t i = 0; i < calls->count; i++)
		if (calls->call[i].place.place == action->place.place &&
			calls->call[i].place.call == action->place.call)
			return &calls->call[i];
	return NULL;
}

TEST(actions_are_within_limits)
{
	struct shake_calls calls;
	struct hold_plan plan;
	int chosen[CALLS] = { 0 };

	calls_make(&calls, CALLS);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		shake_plan_make(&plan, &calls, seed, BUDGET);
		assert_int_equal(plan.magic, HOLD_MAGIC);
		assert_int_equal(plan.budget, BUDGET);
		assert_in_range(plan.actions, 1, SHAKE_ACTIONS);
		for (uint32_t i = 0; i < plan.actions; i++) {
			const struct shake_action *action = &plan.action[i];
			const struct shake_call *call = call_of(&calls, action);

			assert_non_null(call);
			chosen[call - calls.call] = 1;
			assert_in_range(action->ordinal, 1, call->count);
			assert_int_equal(call->is_query, action->answers > 0);
			assert_in_range(action->answers, 0, 8);
			assert_in_range(action->ns, call->is_query ? 0 : HOLD_NS / 32,
				call->is_query ? 0 : HOLD_NS);
			for (uint32_t k = 0; k < i; k++)
				assert_false(plan.action[k].ordinal == action->ordinal &&
					call_of(&calls, &plan.action[k]) == call);
		}
	}
	for (int i = 0; i < CALLS; i++)
		assert_true(chosen[i]);
	shake_calls_release(&calls);
}

TEST(a_seed_is_one_plan)
{
	struct shake_calls calls;
	struct hold_plan one, other;
	int differ = 0;

	calls_make(&calls, CALLS);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		shake_plan_make(&one, &calls, seed, BUDGET);
		shake_plan_make(&other, &calls, seed, BUDGET);
		assert_memory_equal(&one, &other, sizeof(one));
		shake_plan_make(&other, &calls, seed + 1, BUDGET);
		differ += memcmp(&one, &other, sizeof(one)) != 0;
	}
	assert_int_equal(differ, SEEDS);
	shake_calls_release(&calls);
}

/* One more place takes some of the plan's room, and changes nothing at the others. */
TEST(places_have_their_own_numbers)
{
	struct shake_calls few, more;
	struct hold_plan one, other;
	uint32_t kept = 0, all = 0;

	calls_make(&few, CALLS - 1);
	calls_make(&more, CALLS);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		shake_plan_make(&one, &few, seed, BUDGET);
		shake_plan_make(&other, &more, seed, BUDGET);
		for (uint32_t i = 0; i < one.actions; i++, all++)
			kept += (uint32_t)has(&other, &one.action[i]);
	}
	assert_true(kept * 3 > all * 2);
	shake_calls_release(&few);
	shake_calls_release(&more);
}

/* A short program's holds are short, too: one of them leaves time for others. */
TEST(no_hold_takes_the_budget)
{
	struct shake_calls calls;
	struct hold_plan plan;
	uint64_t longest = 0;

	calls_make(&calls, CALLS);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		shake_plan_make(&plan, &calls, seed, HOLD_NS);
		for (uint32_t i = 0; i < plan.actions; i++)
			if (plan.action[i].ns > longest)
				longest = plan.action[i].ns;
	}
	assert_int_equal(longest, HOLD_NS / 4);
	shake_calls_release(&calls);
}

TEST(nothing_to_shake_is_no_action)
{
	struct shake_calls none = { 0 };
	struct hold_plan plan;

	shake_plan_make(&plan, &none, 1, BUDGET);
	assert_int_equal(plan.actions, 0);
}

TEST(actions_have_words)
{
	struct shake_calls calls;
	struct shake_action hold = { .ordinal = 4, .ns = 12500000 };
	struct shake_action answer = { .ordinal = 2, .answers = 3 };
	char *text;

	calls_make(&calls, CALLS);
	hold.place = calls.call[1].place;
	answer.place = calls.call[3].place;
	text = shake_action_text(&hold, &calls);
	assert_string_equal(text, "the stream held for up to 12.5 ms before call 4 of call 1");
	free(text);
	text = shake_action_text(&answer, &calls);
	assert_string_equal(text,
		"\"not ready\" from query 2 on that would succeed, up to 3 times, of call 3");
	free(text);
	shake_calls_release(&calls);
}
