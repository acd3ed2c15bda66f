/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds in which the host waits for more than it uses next: stream a searches (300 us) and copies
 * its result to the host (10 us), stream b draws a picture (1000 us), the thread waits for the
 * device.
 */
#ifndef CUFENCE_TESTS_BROAD_H
#define CUFENCE_TESTS_BROAD_H

#include "miniature.h"

#include "analyze.h"

struct shop {
	struct mini mini;
	int64_t a, b, c, event, kernel;
	int64_t at_search, at_draw, at_wait, at_again, at_more;
	int64_t state, result, picture, sketch;
};

static inline int setup(void **state)
{
	struct shop *s = calloc(1, sizeof(*s));
	struct mini *m = &s->mini;

	mini_init(m);
	s->a = mini_stream(m, "non-blocking");
	s->b = mini_stream(m, "non-blocking");
	s->c = mini_stream(m, "non-blocking");
	s->event = mini_event(m);
	s->kernel = mini_kernel(m, "touch");
	mini_exec(m, "UPDATE kernel SET parameter_count = 2");
	s->at_search = mini_site(m, "search", 14);
	s->at_draw = mini_site(m, "draw", 21);
	s->at_wait = mini_site(m, "wait", 30);
	s->at_again = mini_site(m, "wait_again", 31);
	s->at_more = mini_site(m, "wait_more", 32);
	s->state = mini_allocation(m, "device");
	s->result = mini_allocation(m, "pinned");
	s->picture = mini_allocation(m, "device");
	s->sketch = mini_allocation(m, "device");
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

static inline void launch(struct shop *s, double at, int64_t stream, int64_t site, double start,
	double end, int64_t memory)
{
	int64_t call = MINI_CALL(&s->mini, .type = CALL_cuLaunchKernel, .at = at, .stream = stream,
		.site = site, .kernel = s->kernel, .runs = { start, end },
		.grid = CALL_GRID(4, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0));

	mini_names(&s->mini, call, "word", memory);
}

static inline void download(struct shop *s, double at, int64_t stream, double start, int64_t memory)
{
	int64_t call = MINI_CALL(&s->mini, .type = CALL_cuMemcpyDtoHAsync_v2, .at = at,
		.stream = stream, .site = s->at_search, .bytes = 4096, .direction = 1 + COPY_D2H,
		.dst = "pinned", .src = "device", .runs = { start, start + 10 });

	mini_names(&s->mini, call, "src", memory);
	mini_names(&s->mini, call, "dst", s->result);
}

static inline void search(struct shop *s, double t)
{
	launch(s, t, s->a, s->at_search, t + 20, t + 320, s->state);
	download(s, t + 3, s->a, t + 321, s->state);
}

static inline void wait_device(struct shop *s, double at, double until)
{
	MINI_CALL(&s->mini, .type = CALL_cuCtxSynchronize, .at = at, .until = until,
		.site = s->at_wait);
}

/* A round that begins at t, over at t + 1030. */
static inline void round_at(struct shop *s, double t)
{
	search(s, t);
	launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
	wait_device(s, t + 10, t + 1028);
}

/* The findings of this rule, "count at for excess". */
static inline const char *found(struct shop *s)
{
	assert_int_equal(analyze(&s->mini.db), 0);
	return mini_text(&s->mini,
		"SELECT ifnull(group_concat(count || ' ' || a.line || ' ' || "
		"b.line || ' ' || (waited / 1000), ', '), '') "
		"FROM finding JOIN site a ON a.id = site JOIN site b ON b.id = other_site "
		"WHERE rule = 'broad-sync'");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
