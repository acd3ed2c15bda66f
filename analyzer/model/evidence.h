/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFENCE_EVIDENCE_H
#define CUFENCE_EVIDENCE_H

/* How an access is known, weakest first: evidence.def. */
enum evidence {
#define EVIDENCE(symbol, name, text) EVIDENCE_##symbol,
#include "evidence.def"
	EVIDENCE_COUNT
};

extern const char *const evidence_names[EVIDENCE_COUNT];

/* The text for reports, by name. */
const char *evidence_text(const char *name);

#endif
