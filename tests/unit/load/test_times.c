/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

/* Device, stream, kernels; when the device was last busy. */
ANSWER(busy)
{
	assert_int_equal(analyze(&p->m.db), 0);
	return mini_text(&p->m,
		"SELECT (SELECT busy FROM device_use) || ' ' || (SELECT busy FROM stream_use) || "
		"' ' || (SELECT sum(time) FROM account WHERE cause = 'kernels') || ' ' || "
		"(SELECT last FROM device_use)");
}
