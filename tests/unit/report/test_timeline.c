/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a finding's worst instance.
 */
#include "miniature.h"

#include "analyze.h"
#include "report_timeline.h"

static char *timeline(struct mini *m, int64_t finding)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_timeline(&m->db, finding, out), 0);
	fclose(out);
	return text;
}

/* Two blocking streams and an event record in the legacy stream between them, three times. */
static void tiles(struct mini *m)
{
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t site = mini_site(m, "advance", 20), other = mini_site(m, "mark", 29);
	int64_t kernel = mini_kernel(m, "stencil"), event = mini_event(m);

	for (int i = 0; i < 3; i++) {
		double t = 2100 * i;

		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 10, .stream = a, .site = site,
			.kernel = kernel, .runs = { t + 20, t + 1000 });
		MINI_CALL(m, .type = CALL_cuEventRecord, .at = t + 14, .stream = MINI_LEGACY,
			.site = other, .event = event);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 18, .stream = b, .site = site,
			.kernel = kernel, .runs = { t + 1001, t + 2000 });
		MINI_CALL(m, .type = CALL_cuMemsetD8Async, .at = t + 20, .stream = a, .site = site,
			.runs = { t + 2002, t + 2010 });
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 22, .until = t + 2090);
	}
}

MINI_TEST(an_instance_is_drawn)
{
	char *text;

	tiles(m);
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding"), 1);
	text = timeline(m, 1);
	assert_string_equal(text,
		"    the worst of them, 2.2 ms from 0 ns on:\n"
		"      thread 1             :cuCtxSynchronize--------------------------"
		"-----------------------------]\n"
		"      stream 8             [stencil==========================]        "
		"                          |\n"
		"      stream 9                                               [stencil="
		"==========================]\n"
		"      legend: [===] of this finding, [---] other calls and work, | short, "
		": several, < > cut off\n");
	free(text);
}

/* Findings of a run that recorded no operations have no picture. */
MINI_TEST(nothing_is_drawn_of_no_time)
{
	char *text = timeline(m, 1);

	assert_string_equal(text, "");
	free(text);
}
