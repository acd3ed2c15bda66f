/* SPDX-License-Identifier: Apache-2.0 */
#include "fixes.h"

#include <stddef.h>

const struct fix fixes[RULE_COUNT] = {
#define FIX(symbol, cpp, pytorch) [RULE_##symbol] = { cpp, pytorch },
#include "fixes.def"
};

/* A new rule needs its fix in doc/RULES.md: compilation fails without it. */
enum {
	FIX_COUNT = 0
#define FIX(symbol, cpp, pytorch) +1
#include "fixes.def"
};
_Static_assert((int)FIX_COUNT == (int)RULE_COUNT, "doc/RULES.md has each rule of rules.def");

const struct fix *fix_find(const char *id)
{
	const struct rule_info *rule = rule_find(id);

	return rule ? &fixes[rule - rules] : NULL;
}
