/* SPDX-License-Identifier: Apache-2.0 */
/* "cufence help RULE": the rule's part of doc/RULES.md, which is compiled in. */
#ifndef CUFENCE_HELP_RULE_H
#define CUFENCE_HELP_RULE_H

#include <stdio.h>

struct rule_info;

/* The rule with its example, its fixes, why, when it fires and its limits, as plain text. */
void help_rule(const struct rule_info *rule, FILE *out);

/* All rules, a line each. */
void help_rules(FILE *out);

#endif
