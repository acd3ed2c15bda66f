/* SPDX-License-Identifier: Apache-2.0 */
#include "mistakes.h"

#include <string.h>

const struct mistake mistakes[MISTAKE_COUNT] = {
#define MISTAKE(symbol, id, guess, text, changed, record, rest) \
	[MISTAKE_##symbol] = { id, text, record, rest, guess, changed },
#include "mistakes.def"
};

enum mistake_id mistake_find(const char *why)
{
	for (int i = MISTAKE_none + 1; why && i < MISTAKE_COUNT; i++)
		if (!strcmp(mistakes[i].id, why))
			return (enum mistake_id)i;
	return MISTAKE_none;
}
