/* SPDX-License-Identifier: Apache-2.0 */
#include "broad_row.h"

void broad_row_add(struct broad_row *row, int64_t submissions, const struct fetching *narrow)
{
	if (row->place != narrow->place || row->submissions != submissions)
		*row = (struct broad_row){ .place = narrow->place,
			.submissions = submissions,
			.needed_end = INT64_MIN };
	if (narrow->needed_end > row->needed_end) {
		row->needed_end = narrow->needed_end;
		row->needed = narrow->needed;
	}
	if (narrow->wait && narrow->needed_end == INT64_MIN && row->count < BROAD_ROW)
		row->fetching[row->count++] = *narrow;
}
