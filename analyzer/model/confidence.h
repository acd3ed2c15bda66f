/* SPDX-License-Identifier: Apache-2.0 */
/* How surely something is a mistake: columns hazard.confidence and finding.confidence. */
#ifndef CUFENCE_CONFIDENCE_H
#define CUFENCE_CONFIDENCE_H

enum confidence { CONFIDENCE_OF_RULE, CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };

extern const char *const confidence_names[];

/* Returns the confidence of that name, which must exist. */
enum confidence confidence_find(const char *name);

#endif
