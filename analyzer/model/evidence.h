/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFENCE_EVIDENCE_H
#define CUFENCE_EVIDENCE_H

/* What an access is known from, from the weakest on: evidence.def. */
enum evidence {
#define EVIDENCE(symbol, name, text) EVIDENCE_##symbol,
#include "evidence.def"
	EVIDENCE_COUNT
};

extern const char *const evidence_names[EVIDENCE_COUNT];

/* What a report says of it, by its name. */
const char *evidence_text(const char *name);

#endif
