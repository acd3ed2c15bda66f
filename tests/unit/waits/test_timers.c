/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "stage.h"

#include "evidence_tables.h"

ANSWER(timers)
{
	assert_int_equal(mini_stage(&p->m, timers_find), 0);
	return cases_ask(p, "", 0, 0);
}
