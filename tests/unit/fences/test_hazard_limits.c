/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "history.h"

/* The text counts on these. */
_Static_assert(HISTORY_MOST == 4096 && HISTORY_SWEEP == 64 && HISTORY_ALIKE == 256,
	"other limits, other numbers in the text");
