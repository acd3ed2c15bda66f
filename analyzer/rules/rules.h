/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of findings as a table, made from rules.def.
 */
#ifndef CUFENCE_RULES_H
#define CUFENCE_RULES_H

enum rule {
#define RULE(symbol, id, group, confidence, title, advice, link) RULE_##symbol,
#include "rules.def"
	RULE_COUNT
};

/* Of their findings: what is lost.  Those of the group fences cost no time, but are wrong. */
enum rule_group {
	GROUP_serialization,
	GROUP_blocking,
	GROUP_pace, /* the host's own speed, no wait */
	GROUP_fences,
	GROUP_COUNT
};

struct nearest;
struct pass;

struct rule_info {
	const char *id; /* as printed and stored in finding.rule */
	enum rule_group group;
	const char *confidence; /* certain, likely or possible */
	const char *title;
	const char *advice;
	const char *link;
	const struct pass *pass;
};
extern const struct rule_info rules[RULE_COUNT];
extern const char *const rule_groups[GROUP_COUNT];

/* Returns the rule for a finding.rule; NULL for an unknown id. */
const struct rule_info *rule_find(const char *id);

/* Fixes of findings as code: a table generated from doc/RULES.md (fixes.awk). */
struct fix {
	const char *cpp, *pytorch; /* lines of code */
};

/* Returns the fix for a finding.rule; NULL for an unknown id. */
const struct fix *fix_find(const char *id);

/* Returns "high", "medium" or "low", for a finding about time by its share of the run. */
const char *finding_severity(double share);

/* For a mistyped rule (nearest.h). */
void rule_offer_all(struct nearest *nearest);

#endif
