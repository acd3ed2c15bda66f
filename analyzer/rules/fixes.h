/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes of findings as code: a table generated from doc/RULES.md (fixes.awk). */
#ifndef CUFENCE_FIXES_H
#define CUFENCE_FIXES_H

#include "rules.h"

struct fix {
	const char *cpp, *pytorch; /* lines of code */
};
extern const struct fix fixes[RULE_COUNT];

/* Returns the fix for a finding.rule; NULL for an unknown id. */
const struct fix *fix_find(const char *id);

#endif
