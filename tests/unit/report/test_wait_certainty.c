/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

static const char *found(struct program *p)
{
	assert_int_equal(analyze(&p->m.db), 0);
	return mini_text(&p->m,
		"SELECT ifnull(group_concat(p.confidence || ' ' || p.count || ' :' || line, ', "
		"'), '') FROM finding f JOIN finding_place p ON p.finding = f.id JOIN site ON "
		"site.id = p.site WHERE rule = 'needless-wait' ORDER BY line");
}

int main(void)
{
	static const struct cases_answer answers[] = { { "found", found }, { NULL, NULL } };

	cases_read.answers = answers;
	return cases_main("report/test_wait_certainty.txt", NULL, 0);
}
