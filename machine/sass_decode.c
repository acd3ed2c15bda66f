/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder: so far it knows nothing. */
#include "sass.h"

int sass_decode(unsigned arch, const uint8_t code[SASS_BYTES], uint64_t at,
	struct sass_instruction *in)
{
	(void)arch;
	(void)code;
	(void)at;
	*in = (struct sass_instruction){ .opcode = SASS_UNKNOWN };
	return -1;
}
