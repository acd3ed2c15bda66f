/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a few calls that wait, between kernels, and what is found in them. */
#ifndef CUFENCE_TESTS_BLOCKING_H
#define CUFENCE_TESTS_BLOCKING_H

#include "miniature.h"

#include "analyze.h"

enum { ROUNDS = 6 };

/* The findings shown, "rule count at for" each. */
static inline const char *shown(struct mini *m)
{
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m,
		"SELECT ifnull(group_concat(t, ', '), '') FROM (SELECT f.rule "
		"|| ' ' || f.count || ' ' || a.function || ' ' || b.function AS t FROM finding f "
		"JOIN site a ON a.id = f.site JOIN site b ON b.id = f.other_site WHERE f.shown "
		"ORDER BY t)");
}

static inline const char *message(struct mini *m)
{
	return mini_text(m, "SELECT message FROM finding");
}

static inline int64_t launch(struct mini *m, double at, int64_t stream, int64_t site, double start,
	double end)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = stream, .site = site,
		.runs = { start, end });
}

static inline void finish(struct mini *m, double at, double until)
{
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = at, .until = until);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = until + 2, .stream = MINI_LEGACY,
		.runs = { until + 10, until + 11 });
}

#endif
