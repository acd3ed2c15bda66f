/* SPDX-License-Identifier: Apache-2.0 */
/* A function's header: its parameters and what it returns. */
#include "ptx_parts.h"

#include <stdlib.h>

/* Where a kernel's parameters begin in constant bank 0, as compilers write it to cubins. */
static const struct {
	unsigned first; /* architecture */
	uint32_t base;
} bases[] = { { 100, 0x380 }, { 90, 0x210 }, { 75, 0x160 } };

static uint32_t parameter_base(unsigned arch)
{
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (arch >= bases[i].first)
			return bases[i].base;
	return 0;
}

/* Each parameter lies at the next multiple of its alignment: of the bank, not of the buffer. */
static int place(struct ptx_function *function, struct ptx_variable *variable, uint32_t align)
{
	uint32_t base = function->parameter_base, at = base + function->parameter_bytes;

	if (!align || align > 4096 || variable->bytes > PTX_PARAMETER_LIMIT)
		return -1;
	at = (at + align - 1) / align * align - base;
	variable->offset = at;
	function->parameter_bytes = at + variable->bytes;
	return function->parameter_bytes > PTX_PARAMETER_LIMIT ? -1 : 0;
}

/* From behind '(' to behind ')': .param declarations, for .func also .reg. */
static int parse_list(struct ptx_lexer *lexer, struct ptx_function *function, uint32_t **list,
	uint32_t *count)
{
	uint32_t room = 0, align;

	if (ptx_take(lexer, ')'))
		return 0;
	do {
		struct ptx_variable variable = {
			.kind = function->is_kernel ? VARIABLE_PARAMETER : VARIABLE_FORMAL,
		};
		struct ptx_token name, token = ptx_next(lexer);
		uint32_t before = function->variable_count, number;

		if (!ptx_is(&token, ".param"))
			return ptx_refuse(function, "parameters in registers");
		if (ptx_parse_variable(lexer, &name, &variable, &align) ||
			(function->is_kernel && place(function, &variable, align)))
			return ptx_refuse(function, "a parameter that is not understood");
		number = ptx_add_variable(function, &name, variable);
		if (number == PTX_NO_NAME || ptx_grow(list, &room, *count, sizeof(**list)))
			return ptx_refuse(function, "out of memory");
		if (number != before)
			return ptx_refuse(function, "two parameters of one name");
		(*list)[(*count)++] = number;
	} while (ptx_take(lexer, ','));
	return ptx_take(lexer, ')') ? 0
				    : ptx_refuse(function, "a parameter that is not understood");
}

static int parse_header(struct ptx_function *function)
{
	struct ptx_lexer lexer = { function->text, function->body };

	ptx_next(&lexer);
	if (!function->is_kernel && ptx_take(&lexer, '(') &&
		parse_list(&lexer, function, &function->result, &function->result_count))
		return -1;
	ptx_next(&lexer);
	if (ptx_take(&lexer, '('))
		return parse_list(&lexer, function, &function->formal, &function->formal_count);
	return 0;
}

int ptx_parse_function(struct ptx_module *module, struct ptx_function *function)
{
	int ok;

	if (function->parsed)
		return function->parsed > 0 ? 0 : -1;
	function->parameter_base = parameter_base(module->arch);
	if (module->read)
		ok = !module->read(module, function);
	else
		ok = !parse_header(function) && !ptx_parse_code(module, function) &&
			!ptx_make_flow(function);
	function->parsed = ok ? 1 : -1;
	function->variable_base = module->variable_total;
	module->variable_total += function->variable_count;
	return ok ? 0 : -1;
}

void ptx_function_release(struct ptx_function *function)
{
	free(function->variable);
	free(function->formal);
	free(function->result);
	ptx_names_release(&function->variables);
	ptx_names_release(&function->registers);
	ptx_names_release(&function->labels);
	free(function->label);
	free(function->table);
	free(function->target);
	free(function->argument);
	free(function->instruction);
	free(function->operand);
	free(function->block);
	free(function->edges);
	free(function->order);
	free(function->decide);
	free(function->reg);
	free(function->slot_reg);
}

int ptx_parameters(struct ptx_module *module, size_t kernel, struct image_parameter *parameter,
	unsigned room)
{
	struct ptx_function *function = &module->function[module->kernel[kernel]];
	struct ptx_function header = {
		.name = function->name,
		.text = function->text,
		.body = function->body,
		.is_kernel = 1,
		.parameter_base = parameter_base(module->arch),
	};
	int count = module->read || parse_header(&header) ? -1 : (int)header.formal_count;

	for (int i = 0; i < count && (unsigned)i < room; i++)
		parameter[i] = (struct image_parameter){
			header.variable[header.formal[i]].offset,
			header.variable[header.formal[i]].bytes,
		};
	ptx_function_release(&header);
	return count;
}
