/* SPDX-License-Identifier: Apache-2.0 */
/* Why nothing orders two operations, as a table: mistakes.def. */
#ifndef CUFENCE_MISTAKES_H
#define CUFENCE_MISTAKES_H

enum mistake_id {
#define MISTAKE(symbol, id, guess, text, changed, record, rest) MISTAKE_##symbol,
#include "mistakes.def"
	MISTAKE_COUNT
};

struct mistake {
	const char *id, *text, *record, *rest;
	int is_guess, is_changed;
};
extern const struct mistake mistakes[MISTAKE_COUNT];

/* Returns that of hazard.why, MISTAKE_none for NULL and unknown ones. */
enum mistake_id mistake_find(const char *why);

#endif
