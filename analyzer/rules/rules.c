/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

#include <stddef.h>
#include <string.h>

#include "constants.h"
#include "nearest.h"
#include "pass.h"

#define RULE(symbol, id, group, confidence, title, advice, link) \
	extern const struct pass pass_##symbol;
#include "rules.def"

const struct rule_info rules[RULE_COUNT] = {
#define RULE(symbol, id, group, confidence, title, advice, link) \
	[RULE_##symbol] = { id, GROUP_##group, confidence, title, advice, link, &pass_##symbol },
#include "rules.def"
};

const char *const rule_groups[GROUP_COUNT] = {
	[GROUP_serialization] = "serialization",
	[GROUP_blocking] = "blocking",
	[GROUP_pace] = "pace",
	[GROUP_fences] = "fences",
};

const struct rule_info *rule_find(const char *id)
{
	for (int i = 0; i < RULE_COUNT; i++) {
		if (!strcmp(rules[i].id, id))
			return &rules[i];
	}
	return NULL;
}

static const struct fix fixes[RULE_COUNT] = {
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

const char *finding_severity(double share)
{
	return share >= HIGH_PERCENT / 100.0           ? "high"
		: share >= FINDING_MIN_PERCENT / 100.0 ? "medium"
						       : "low";
}

void rule_offer_all(struct nearest *nearest)
{
	for (int i = 0; i < RULE_COUNT; i++)
		nearest_offer(nearest, rules[i].id);
}
