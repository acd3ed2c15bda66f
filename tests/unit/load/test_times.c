/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

/* Device, stream, kernels; when the device was last busy. */
static const char *busy(struct program *p)
{
	assert_int_equal(analyze(&p->m.db), 0);
	return mini_text(&p->m,
		"SELECT (SELECT busy FROM device_use) || ' ' || (SELECT busy FROM stream_use) || "
		"' ' || (SELECT sum(time) FROM account WHERE cause = 'kernels') || ' ' || "
		"(SELECT last FROM device_use)");
}

int main(void)
{
	static const struct cases_answer answers[] = { { "busy", busy }, { NULL, NULL } };

	cases_read.answers = answers;
	return cases_main("load/test_times.txt", NULL, 0);
}
