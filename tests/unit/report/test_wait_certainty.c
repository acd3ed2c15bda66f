/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

ANSWER(found)
{
	assert_int_equal(analyze(&p->m.db), 0);
	return mini_text(&p->m,
		"SELECT ifnull(group_concat(p.confidence || ' ' || p.count || ' :' || line, ', "
		"'), '') FROM finding f JOIN finding_place p ON p.finding = f.id JOIN site ON "
		"site.id = p.site WHERE rule = 'needless-wait' ORDER BY line");
}
