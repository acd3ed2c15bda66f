/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds with a wait for an event: a kernel refines a model (300 us), another one writes a protocol
 * (600 us), both in stream a; a record; stream b waits for it and uses the model (500 us).
 */
#ifndef CUFENCE_TESTS_DEPENDENCY_H
#define CUFENCE_TESTS_DEPENDENCY_H

#include "miniature.h"

#include "analyze.h"

struct shop {
	struct mini mini;
	int64_t a, b, c, refined, answered, kernel;
	int64_t at_refine, at_protocol, at_wait, at_use;
	int64_t model, protocol, answer, other;
};

static inline int setup(void **state)
{
	struct shop *s = calloc(1, sizeof(*s));
	struct mini *m = &s->mini;

	mini_init(m);
	s->a = mini_stream(m, "non-blocking");
	s->b = mini_stream(m, "non-blocking");
	s->c = mini_stream(m, "non-blocking");
	s->refined = mini_event(m);
	s->answered = mini_event(m);
	s->kernel = mini_kernel(m, "touch");
	mini_exec(m, "UPDATE kernel SET parameter_count = 2");
	s->at_refine = mini_site(m, "refine", 13);
	s->at_protocol = mini_site(m, "write_protocol", 19);
	s->at_wait = mini_site(m, "wait_for", 25);
	s->at_use = mini_site(m, "use_model", 30);
	s->model = mini_allocation(m, "device");
	s->protocol = mini_allocation(m, "device");
	s->answer = mini_allocation(m, "device");
	s->other = mini_allocation(m, "device");
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

/* A kernel that names up to two allocations. */
static inline int64_t launch(struct shop *s, double at, int64_t stream, int64_t site, double start,
	double end, int64_t memory, int64_t more)
{
	int64_t call = MINI_CALL(&s->mini, .type = CALL_cuLaunchKernel, .at = at, .stream = stream,
		.site = site, .kernel = s->kernel, .runs = { start, end },
		.grid = CALL_GRID(4, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0));

	mini_names(&s->mini, call, "word", memory);
	if (more)
		mini_names(&s->mini, call, "word", more);
	return call;
}

static inline void record(struct shop *s, double at, int64_t event, int64_t stream)
{
	MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = at, .event = event, .stream = stream);
}

static inline void wait_for(struct shop *s, double at, int64_t event, int64_t stream)
{
	MINI_CALL(&s->mini, .type = CALL_cuStreamWaitEvent, .at = at, .event = event,
		.stream = stream, .site = s->at_wait);
}

/* One round without what comes after stream b's work; the time it is over. */
static inline double round_at(struct shop *s, double t, int64_t used)
{
	launch(s, t, s->a, s->at_refine, t + 20, t + 320, s->model, 0);
	launch(s, t + 3, s->a, s->at_protocol, t + 321, t + 921, s->protocol, 0);
	record(s, t + 6, s->refined, s->a);
	wait_for(s, t + 9, s->refined, s->b);
	launch(s, t + 12, s->b, s->at_use, t + 922, t + 1422, used, s->answer);
	return t + 1422;
}

static inline void end(struct shop *s, double t)
{
	MINI_CALL(&s->mini, .type = CALL_cuCtxSynchronize, .at = t, .until = t + 5);
}

/* The findings of this rule, "count at for delay". */
static const char *found(struct shop *s)
{
	assert_int_equal(analyze(&s->mini.db), 0);
	return mini_text(&s->mini,
		"SELECT ifnull(group_concat(count || ' ' || a.line || ' ' || "
		"b.line || ' ' || (delayed / 1000), ', '), '') FROM finding "
		"JOIN site a ON a.id = site JOIN site b ON b.id = other_site "
		"WHERE rule = 'false-dependency'");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
