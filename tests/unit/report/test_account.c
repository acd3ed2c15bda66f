/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "stage.h"

#include "account.h"

TEST(the_sums_are_the_whole)
{
	struct mini m;
	double at = 0;

	mini_init(&m);
	for (int i = 0; i < 4; i++)
		mini_site(&m, "f", i);
	srand(7);
	for (int i = 0; i < 300; i++) {
		double from = at + rand() % 40, until = from + 1 + rand() % 60;

		MINI_CALL(&m, .type = rand() % 3 ? CALL_cuLaunchKernel : CALL_cuMemcpyHtoDAsync_v2,
			.at = at, .until = at + 1 + rand() % 5, .stream = 1, .site = 1 + i % 4,
			.runs = { from, until });
		at += 6 + rand() % 30;
	}
	assert_int_equal(mini_stage(&m, account_measure), 0);
	assert_int_equal(mini_int(&m, "SELECT turns FROM loop"), 75);
	assert_int_equal(mini_int(&m, "SELECT sum(time) FROM account WHERE device = 0"),
		mini_int(&m, "SELECT end - start FROM loop"));
	assert_int_equal(mini_int(&m, "SELECT sum(time) FROM account WHERE device IS NULL"),
		mini_int(&m, "SELECT end - start FROM loop"));
	mini_release(&m);
}
