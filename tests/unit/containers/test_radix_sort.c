/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include "radix_sort.h"

struct row {
	int64_t number;
	size_t place;
};

/* Numbers of both signs, many twice, whose low and high digits differ. */
static struct row *make_rows(size_t count)
{
	struct row *row = malloc((count ? count : 1) * sizeof(*row));

	assert_non_null(row);
	for (size_t i = 0; i < count; i++)
		row[i] = (struct row){
			((int64_t)(i * 7919 % 1009) - 500) * ((int64_t)1 << i * 31 % 50), i
		};
	return row;
}

TEST(rows_are_sorted_and_equal_ones_stay_in_order)
{
	static const size_t counts[] = { 0, 1, 2, 300, 4095, 4096, 70000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct row *row = radix_sort(make_rows(counts[i]), counts[i], sizeof(*row));
		size_t places = 0;

		for (size_t j = 0; j < counts[i]; j++) {
			places += row[j].place;
			if (!j)
				continue;
			assert_true(row[j - 1].number <= row[j].number);
			assert_true(row[j - 1].number < row[j].number ||
				row[j - 1].place < row[j].place);
		}
		if (counts[i])
			assert_int_equal(places, counts[i] * (counts[i] - 1) / 2);
		free(row);
	}
}
