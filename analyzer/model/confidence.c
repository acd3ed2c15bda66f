/* SPDX-License-Identifier: Apache-2.0 */
#include "confidence.h"

#include <string.h>

const char *const confidence_names[] = {
	[CONFIDENCE_POSSIBLE] = "possible",
	[CONFIDENCE_LIKELY] = "likely",
	[CONFIDENCE_CERTAIN] = "certain",
};

enum confidence confidence_find(const char *name)
{
	enum confidence confidence = CONFIDENCE_CERTAIN;

	while (confidence > CONFIDENCE_POSSIBLE && strcmp(confidence_names[confidence], name))
		confidence--;
	return confidence;
}
