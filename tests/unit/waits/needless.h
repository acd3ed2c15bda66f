/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams work for 300 us each on memory of their own; the host waits for each.
 */
#ifndef CUFENCE_TESTS_NEEDLESS_H
#define CUFENCE_TESTS_NEEDLESS_H

#include "miniature.h"

#include "analyze.h"

struct shop {
	struct mini mini;
	int64_t a, b, kernel, event;
	int64_t at_launch, at_wait, at_copy, at_other;
	int64_t mine, yours, pinned;
};

static inline int setup(void **state)
{
	struct shop *s = calloc(1, sizeof(*s));
	struct mini *m = &s->mini;

	mini_init(m);
	s->a = mini_stream(m, "non-blocking");
	s->b = mini_stream(m, "non-blocking");
	s->event = mini_event(m);
	s->kernel = mini_kernel(m, "touch");
	mini_exec(m, "UPDATE kernel SET parameter_count = 2");
	s->at_launch = mini_site(m, "launch", 10);
	s->at_wait = mini_site(m, "wait", 20);
	s->at_copy = mini_site(m, "copy", 30);
	s->at_other = mini_site(m, "other", 40);
	s->mine = mini_allocation(m, "device");
	s->yours = mini_allocation(m, "device");
	*state = s;
	return 0;
}

static inline int teardown(void **state)
{
	struct shop *s = *state;

	mini_release(&s->mini);
	free(s);
	return 0;
}

static inline void launch(struct shop *s, double at, int64_t stream, int64_t memory)
{
	int64_t call = MINI_CALL(&s->mini, .type = CALL_cuLaunchKernel, .at = at, .stream = stream,
		.site = s->at_launch, .kernel = s->kernel, .runs = { at + 10, at + 310 },
		.grid = CALL_GRID(4, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0));

	mini_names(&s->mini, call, "word", memory);
}

static inline void wait_stream(struct shop *s, double at, double until, int64_t stream)
{
	MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = at, .until = until,
		.stream = stream, .site = s->at_wait);
}

/* Each stream in turn, waited for: 330 us. */
static inline void turn(struct shop *s, int i, int64_t memory)
{
	int64_t stream = i % 2 ? s->b : s->a;
	double t = 330 * i;

	launch(s, t, stream, memory);
	wait_stream(s, t + 5, t + 313, stream);
}

/* A last launch: waits after all work are the end. */
static const char *found(struct shop *s, double end)
{
	launch(s, end, s->a, s->mine);
	assert_int_equal(analyze(&s->mini.db), 0);
	return mini_text(&s->mini,
		"SELECT ifnull(group_concat(confidence || ' ' || count || ' ' || line || ' ' || "
		"shown, ', '), '') FROM finding JOIN site ON site.id = finding.site "
		"WHERE rule = 'needless-wait'");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
