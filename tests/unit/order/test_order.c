/* SPDX-License-Identifier: Apache-2.0 */
/* Ways along the edges that are stored.  The edges themselves are in the text. */
#include "cases.h"

#include "order_path.h"

/* Whatever was asked before, of the same earlier call or of another. */
TEST(a_way_is_found_after_one_that_was_not)
{
	/* later, earlier, whether there is a way */
	static const int asked[][3] = { { 4, 1, 0 }, { 2, 1, 1 }, { 3, 1, 1 }, { 4, 1, 0 },
		{ 7, 1, 1 }, { 8, 1, 1 }, { 7, 4, 1 }, { 3, 4, 0 }, { 8, 4, 1 } };
	struct program p;
	struct order_path *path;

	program_begin(&p);
	program_do(&p,
		"launch n1; launch n1; launch n1; launch n2; record f1 n1; wait f1 n2;"
		"launch n2; launch n2");
	assert_int_equal(analyze(&p.m.db), 0);
	path = order_path_open(&p.m.db);
	assert_non_null(path);
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
			assert_int_equal(order_path_exists(path, asked[i][0], asked[i][1]),
				asked[i][2]);
	order_path_close(path);
	mini_release(&p.m);
}

/* Work that only its stream orders is skipped, but none that is asked for or moved. */
TEST(a_way_leads_along_a_stream)
{
	enum { OTHER = 1, FIRST = 2, COUNT = 40, MOVED = 25, LAST = FIRST + COUNT + 2 };
	struct program p;
	struct order_path *path;

	program_begin(&p);
	program_do(&p, "launch n2");
	for (int i = 0; i < COUNT; i++)
		program_do(&p, "launch n1");
	program_do(&p, "record f1 n1; wait f1 n2; launch n2");
	assert_int_equal(analyze(&p.m.db), 0);
	path = order_path_open(&p.m.db);
	assert_non_null(path);
	for (int i = 0; i < COUNT; i++) {
		const int64_t moved[] = { OTHER, FIRST + MOVED };
		int64_t call = FIRST + i;

		assert_int_equal(order_path_exists(path, LAST, call), 1);
		assert_int_equal(order_path_exists(path, call, OTHER), 0);
		assert_int_equal(order_path_exists(path, FIRST + COUNT - 1, call), 1);
		assert_int_equal(order_path_exists(path, FIRST, call), i == 0);
		assert_int_equal(order_path_exists_moved(path, LAST, call, moved, 2), i >= MOVED);
		assert_int_equal(order_path_exists_moved(path, LAST, call, moved, 1), 1);
	}
	order_path_close(path);
	mini_release(&p.m);
}
