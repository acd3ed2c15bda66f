/* SPDX-License-Identifier: Apache-2.0 */
/* legacy-stream-serialization: to which stream its fix sends the work. */
#include "miniature.h"

/* Two streams that work side by side but for memsets in the legacy stream, each for one of them. */
struct shop {
	struct mini mini;
	int64_t stream[2], counts[2], clear, count;
	double now, end;
};

static int setup(void **state)
{
	struct shop *s = calloc(1, sizeof(*s));

	mini_init(&s->mini);
	s->clear = mini_site(&s->mini, "clear", 10);
	s->count = mini_site(&s->mini, "count", 20);
	for (int i = 0; i < 2; i++) {
		s->stream[i] = mini_stream(&s->mini, "blocking");
		s->counts[i] = mini_allocation(&s->mini, "device");
	}
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct shop *s = *state;

	mini_release(&s->mini);
	free(s);
	return 0;
}

static void submit(struct shop *s, int type, int64_t stream, int64_t site, int64_t memory,
	double length)
{
	double start = s->end + 1 > s->now + 6 ? s->end + 1 : s->now + 6;
	int64_t call = MINI_CALL(&s->mini, .type = type, .at = s->now, .stream = stream,
		.site = site, .runs = { start, start + length });

	mini_names(&s->mini, call, "word", memory);
	s->end = start + length;
	s->now += 4;
}

static const char *fix(struct shop *s, int users)
{
	for (int i = 0; i < 10; i++) {
		submit(s, CALL_cuMemsetD8Async, MINI_LEGACY, s->clear, s->counts[i % 2], 2);
		submit(s, CALL_cuLaunchKernel, s->stream[i % 2], s->count, s->counts[i % 2], 1000);
		if (users > 1)
			submit(s, CALL_cuLaunchKernel, s->stream[(i + 1) % 2], s->count,
				s->counts[i % 2], 10);
	}
	assert_int_equal(analyze(&s->mini.db), 0);
	return mini_text(&s->mini,
		"SELECT ifnull(p.fix, '') FROM finding f JOIN finding_place p ON p.finding = f.id "
		"WHERE f.rule = 'legacy-stream-serialization'");
}

static void it_names_the_stream_that_uses_the_memory(void **state)
{
	const char *text = fix(*state, 1);

	assert_non_null(strstr(text, "submit it where its memory is used"));
	assert_non_null(strstr(text, "(mini.cu:20)"));
}

/* Events have to say which of two comes first. */
static void of_two_streams_it_names_none(void **state)
{
	assert_string_equal(fix(*state, 2), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_names_the_stream_that_uses_the_memory),
		TEST(of_two_streams_it_names_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
