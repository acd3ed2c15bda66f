/* SPDX-License-Identifier: Apache-2.0 */
/* Functions called in place of the driver's (between.h). */
#include "fix_internal.h"

/* clang-format off */
#define BETWEEN_CALL struct fixed_call
#define BETWEEN_TAKES(TAKE, field, expression) \
	TAKE(ptr, field, expression) TAKE(bytes, field, expression) \
	TAKE(flags, field, expression) TAKE(array, field, expression) \
	TAKE(pool, field, expression) TAKE(event, field, expression) \
	TAKE(type, field, expression) TAKE(value, field, expression) \
	TAKE(stream, field, expression) TAKE(dst, field, expression) \
	TAKE(src, field, expression) TAKE(module, field, expression)
/* Where the call returns what is made; an image is its address (between.h). */
#define MADE(field, which) \
	((FIELD_##field == FIELD_ptr && (int)(which) == (int)KIND_ALLOC_HOST) || \
		(FIELD_##field == FIELD_module && (int)(which) == (int)KIND_MODULE_LOAD))
#define BETWEEN_MADE(field, pointer, which) \
	if (MADE(field, which)) \
		call.made = (uint64_t *)(uintptr_t) __builtin_choose_expr(MADE(field, which), \
			pointer, 0); \
	if (FIELD_##field == FIELD_image) \
		call.image = *(const uint64_t *)(uintptr_t) __builtin_choose_expr( \
			FIELD_##field == FIELD_image, pointer, &(uint64_t){ 0 });
#define STREAM(parameter) IN(stream, parameter) call.stream_at = &(parameter);
#define STREAM_OF(config) \
	IN(stream, config ? config->hStream : NULL) call.config_at = config ? &(config) : NULL;
#define BETWEEN_CONCERNS fix_concerns
#define BETWEEN_MAKES(call, variant, which, fields, result, make) \
	call.per_thread = variant; \
	call.real = (void *)real; \
	if (fix_concerns(which)) { \
		fields if (fix_before(&call)) return CUDA_SUCCESS; \
	} \
	result = make; \
	if (fix_again(&call, (int)result)) \
		result = make; \
	fix_after(&call, (int)result);
/* clang-format on */
#include "between.h"

void *fix_wrapper(enum call_id call, int variant, void *real)
{
	return between(call, variant, real);
}
