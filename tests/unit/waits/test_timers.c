/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "stage.h"

#include "evidence_tables.h"

static const char *timers(struct program *p)
{
	assert_int_equal(mini_stage(&p->m, timers_find), 0);
	return cases_ask(p, "", 0, 0);
}

int main(void)
{
	static const struct cases_answer answers[] = { { "timers", timers }, { NULL, NULL } };

	cases_read.answers = answers;
	return cases_main("waits/test_timers.txt", NULL, 0);
}
