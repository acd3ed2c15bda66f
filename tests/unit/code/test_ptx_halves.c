/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_text.h"

ANSWER(found)
{
	uint8_t value[20] = { 0 }, state[20];

	memset(state, PTX_POINTER, 16);
	memset(state + 16, PTX_UNKNOWN, 4);
	return ptx_claims(&(struct ptx_launch){ { 2, 1, 1 }, { 32, 1, 1 }, 20, value, state },
		PTX_STEPS);
}
