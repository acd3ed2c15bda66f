/* SPDX-License-Identifier: Apache-2.0 */
/* Functions called in place of the driver's (between.h). */
#include "hold_internal.h"

/* clang-format off */
#define BETWEEN_CALL struct held_call
#define BETWEEN_TAKES(TAKE, field, expression) \
	TAKE(stream, field, expression) TAKE(event, field, expression)
#define BETWEEN_MADE(field, pointer, which)
#define BETWEEN_CONCERNS hold_concerns
#define BETWEEN_MAKES(call, variant, which, fields, result, make) \
	call.per_thread = variant; \
	fields hold_before(&call); \
	result = make; \
	hold_after(&call, result == CUDA_SUCCESS); \
	if (kind_has(which, K_POLLS) || kind_waits(which) != WAITS_NOTHING) \
		result = (CUresult)hold_answer(&call, (int)result);
/* clang-format on */
#include "between.h"

void *hold_wrapper(enum call_id call, int variant, void *real)
{
	return between(call, variant, real);
}
