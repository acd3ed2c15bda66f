/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "handovers.h"
#include "run_columns.h"

ANSWER(found)
{
	static char text[100];
	struct db *db = &p->m.db;

	text[0] = '\0';
	db->run = run_open(db);
	assert_non_null(db->run);
	assert_int_equal(handovers_find(db), 0);
	for (size_t i = 0; i < db->run->evidence.handovers.count; i++) {
		const struct handover *h = &db->run->evidence.handovers.list[i];

		if (h->thread == MINI_MAIN)
			snprintf(text, sizeof(text), "%u %s %u %lld%s", h->before,
				h->is_function ? "function" : "call", h->by,
				(long long)h->blocked / 1000, h->is_sure ? "" : "?");
	}
	run_close(db->run);
	db->run = NULL;
	return text;
}
