/* SPDX-License-Identifier: Apache-2.0 */
#include "fixes.h"

#include <stddef.h>

const struct fix fixes[RULE_COUNT] = {
#define FIX(symbol, cpp, pytorch) [RULE_##symbol] = { cpp, pytorch },
#include "fixes.def"
};

const struct fix *fix_find(const char *id)
{
	const struct rule_info *rule = rule_find(id);

	return rule ? &fixes[rule - rules] : NULL;
}
