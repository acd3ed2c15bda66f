/* SPDX-License-Identifier: Apache-2.0 */
/* How findings are fixed, as code: a table made from doc/RULES.md (fixes.awk). */
#ifndef CUFENCE_FIXES_H
#define CUFENCE_FIXES_H

#include "rules.h"

struct fix {
	const char *cpp, *pytorch; /* lines */
};
extern const struct fix fixes[RULE_COUNT];

/* That of the rule of a finding.rule; NULL if there is none of that id. */
const struct fix *fix_find(const char *id);

#endif
