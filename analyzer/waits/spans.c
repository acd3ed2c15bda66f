/* SPDX-License-Identifier: Apache-2.0 */
#include "spans.h"

int spans_add(struct spans *spans, enum span_kind kind, int64_t start, int64_t end)
{
	for (int k = kind; k < SPAN_KINDS; k++)
		busy_add(&spans->up_to[k], start, end);
	return 0;
}

int spans_sum(struct spans *spans, int64_t from, int64_t until, struct span_sums *sums)
{
	int64_t ns[SPAN_KINDS];

	for (int k = 0; k < SPAN_KINDS; k++) {
		busy_join(&spans->up_to[k]);
		ns[k] = busy_between(&spans->up_to[k], from, until);
	}
	sums->apart = ns[SPAN_APART] - ns[SPAN_AFTER];
	sums->idle = (until > from ? until - from : 0) - ns[SPAN_ELSEWHERE];
	return 0;
}

void spans_release(struct spans *spans)
{
	for (int k = 0; k < SPAN_KINDS; k++)
		busy_release(&spans->up_to[k]);
}
