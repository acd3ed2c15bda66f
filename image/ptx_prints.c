/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels print: those from which calls lead to vprintf, which nvcc makes of printf. */
#include <stdlib.h>

#include "builtin.h"
#include "ptx_parts.h"

/* Functions found to be reached, each once. */
struct reach {
	struct ptx_module *module;
	uint32_t *function;
	uint32_t count;
	uint8_t *seen; /* by function */
	int doubt;     /* a call leads who knows where */
};

static void reach(struct reach *reach, uint32_t number)
{
	if (!reach->seen[number])
		reach->function[reach->count++] = number;
	reach->seen[number] = 1;
}

/* What the call names: its first operand, or behind the results. */
static void follow_call(struct reach *all, const struct ptx_function *function,
	const struct ptx_instruction *in)
{
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t at =
		in->count && operand[0].kind == OPERAND_VECTOR ? ptx_operand_end(operand, 0) : 0;

	if (at < in->count && operand[at].kind == OPERAND_FUNCTION)
		reach(all, operand[at].number);
	else
		all->doubt = 1;
}

/* 1: it is vprintf itself. */
static int follow(struct reach *all, struct ptx_function *function)
{
	enum builtin what = builtin_of(function->name, function->length);

	if (what == BUILTIN_PRINTF)
		return 1;
	/* CUDA's own, or linked from elsewhere. */
	if (!function->has_body) {
		all->doubt |= what == BUILTIN_NONE;
		return 0;
	}
	if (ptx_parse_function(all->module, function)) {
		all->doubt = 1;
		return 0;
	}
	for (uint32_t i = 0; i < function->instruction_count; i++)
		if (function->instruction[i].opcode == OP_CALL)
			follow_call(all, function, &function->instruction[i]);
	return 0;
}

int ptx_prints(struct ptx_module *module, size_t kernel)
{
	struct reach all = { .module = module };
	int prints = 0;

	all.function = calloc(module->function_count, sizeof(*all.function));
	all.seen = calloc(module->function_count, 1);
	if (all.function && all.seen) {
		reach(&all, module->kernel[kernel]);
		for (uint32_t i = 0; i < all.count && !prints; i++)
			prints = follow(&all, &module->function[all.function[i]]);
	} else {
		all.doubt = 1;
	}
	free(all.function);
	free(all.seen);
	return prints ? 1 : all.doubt ? -1 : 0;
}
