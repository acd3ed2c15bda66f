/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a module: its functions and variables, and declarations of both. */
#include "ptx_internal.h"

#include <stdlib.h>

int ptx_grow(void *array, uint32_t *room, uint32_t count, size_t size)
{
	uint32_t more = *room ? *room * 2 : 16;
	void *old, *grown;

	if (count < *room)
		return 0;
	if (more > 1u << 28)
		return -1;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, more * size);
	if (!grown)
		return -1;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return 0;
}

int ptx_refuse(struct ptx_function *function, const char *why)
{
	if (!function->why)
		function->why = why;
	return -1;
}

struct ptx_type ptx_type(const char *text, size_t length)
{
	static const struct {
		const char name[5];
		uint8_t class, bytes;
	} types[] = {
		{ "b8", CLASS_BITS, 1 },
		{ "b16", CLASS_BITS, 2 },
		{ "b32", CLASS_BITS, 4 },
		{ "b64", CLASS_BITS, 8 },
		{ "b128", CLASS_BITS, 16 },
		{ "s8", CLASS_SIGNED, 1 },
		{ "s16", CLASS_SIGNED, 2 },
		{ "s32", CLASS_SIGNED, 4 },
		{ "s64", CLASS_SIGNED, 8 },
		{ "u8", CLASS_UNSIGNED, 1 },
		{ "u16", CLASS_UNSIGNED, 2 },
		{ "u32", CLASS_UNSIGNED, 4 },
		{ "u64", CLASS_UNSIGNED, 8 },
		{ "f16", CLASS_FLOAT, 2 },
		{ "bf16", CLASS_FLOAT, 2 },
		{ "f32", CLASS_FLOAT, 4 },
		{ "tf32", CLASS_FLOAT, 4 },
		{ "f64", CLASS_FLOAT, 8 },
		{ "pred", CLASS_PREDICATE, 1 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == length && !memcmp(types[i].name, text, length))
			return (struct ptx_type){ types[i].class, types[i].bytes };
	if (length == 5 && !memcmp(text, "f16x2", 5))
		return (struct ptx_type){ CLASS_FLOAT, 4 };
	if (length == 6 && !memcmp(text, "bf16x2", 6))
		return (struct ptx_type){ CLASS_FLOAT, 4 };
	return (struct ptx_type){ CLASS_BITS, 0 };
}

/*
 * Limit of functions and of variables in a module: a function needs 400 bytes, but little text.  A
 * module with more is refused.
 */
#define DECLARED_LIMIT (1u << 18)

/* Suffixes like "::cta" in ".shared::cta" are part of the space. */
int ptx_space(const char *text, size_t length)
{
	static const char *const names[] = {
		[SPACE_GENERIC] = "generic",
		[SPACE_GLOBAL] = "global",
		[SPACE_SHARED] = "shared",
		[SPACE_LOCAL] = "local",
		[SPACE_CONST] = "const",
		[SPACE_PARAM] = "param",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (length >= n && !memcmp(text, names[i], n) && (length == n || text[n] == ':'))
			return (int)i;
	}
	return -1;
}

/* [.attribute(.managed)] [.align N] [.v2] .type [.ptr [.space] [.align N]] name [ [count] ] */
int ptx_parse_variable(struct ptx_lexer *lexer, struct ptx_token *name,
	struct ptx_variable *variable, uint32_t *align)
{
	uint64_t element = 0, number, count = 1, wanted = 0;
	struct ptx_token token;

	while ((token = ptx_next(lexer)).kind == TOKEN_WORD && *token.text == '.') {
		struct ptx_type type = ptx_type(token.text + 1, token.length - 1);

		if (ptx_is(&token, ".attribute")) {
			do
				token = ptx_next(lexer);
			while (token.kind != TOKEN_END && !ptx_is_character(&token, ')'));
		} else if (ptx_is(&token, ".align")) {
			token = ptx_next(lexer);
			if (ptx_number(&token, &number))
				return -1;
			/* After the type, an alignment is that of the pointer's target. */
			wanted = element ? wanted : number;
		} else if (ptx_is(&token, ".v2") || ptx_is(&token, ".v4")) {
			count = token.text[2] == '2' ? 2 : 4;
		} else if (type.bytes && !element) {
			element = type.bytes;
		} else if (!element && ptx_is(&token, ".texref")) {
			element = 8;
		}
	}
	if (token.kind != TOKEN_WORD || !element)
		return -1;
	*name = token;
	/* f<2> declares a family of names, for registers only. */
	while (ptx_take(lexer, '[')) {
		token = ptx_next(lexer);
		if (ptx_is_character(&token, ']')) /* extern .shared: no size */
			continue;
		if (ptx_number(&token, &number) || !ptx_take(lexer, ']') || number > 1u << 30)
			return -1;
		count = count * number > 1u << 30 ? 1u << 30 : count * number;
	}
	*align = wanted ? (uint32_t)wanted : (uint32_t)element;
	variable->bytes = (uint32_t)(element * count > UINT32_MAX ? UINT32_MAX : element * count);
	return 0;
}

uint32_t ptx_add_variable(struct ptx_function *function, const struct ptx_token *name,
	struct ptx_variable variable)
{
	uint32_t number = ptx_names_add(&function->variables, name->text, name->length, 0);

	if (number == PTX_NO_NAME)
		return number;
	if (number < function->variable_count)
		return number;
	if (PTX_ROOM(function->variable, function->variable_room, function->variable_count))
		return PTX_NO_NAME;
	function->variable[function->variable_count++] = variable;
	return number;
}

/* Adds a function, after .entry or .func; text: start of its header. */
static int add_function(struct ptx_module *module, struct ptx_lexer *lexer, int is_kernel,
	const char *text)
{
	struct ptx_function *function;
	struct ptx_token token;
	uint32_t number;

	if (module->function_count == DECLARED_LIMIT ||
		PTX_ROOM(module->function, module->function_room, module->function_count))
		return -1;
	/* The results of a .func are in parentheses before its name. */
	if (!is_kernel && ptx_take(lexer, '('))
		do
			token = ptx_next(lexer);
		while (token.kind != TOKEN_END && !ptx_is_character(&token, ')'));
	token = ptx_next(lexer);
	if (token.kind != TOKEN_WORD)
		return 0;
	function = &module->function[module->function_count];
	*function = (struct ptx_function){
		.name = token.text,
		.length = token.length,
		.text = text,
		.is_kernel = is_kernel != 0,
	};
	do
		token = ptx_next(lexer);
	while (token.kind != TOKEN_END && !ptx_is_character(&token, '{') &&
		!ptx_is_character(&token, ';'));
	function->body = lexer->at;
	function->has_body = ptx_is_character(&token, '{');
	if (function->has_body && ptx_skip_braces(lexer))
		function->has_body = 0;
	function->end = lexer->at;
	number = ptx_names_add(&module->functions, function->name, function->length, 0);
	if (number == PTX_NO_NAME)
		return -1;
	if (number == module->function_count)
		module->function_count++;
	else if (!module->function[number].has_body) /* only declared so far */
		module->function[number] = *function;
	return 0;
}

static int add_variable(struct ptx_module *module, struct ptx_lexer *lexer, int space)
{
	struct ptx_variable variable = { .kind = VARIABLE_SHARED };
	static const char library[] = "__cudart_";
	struct ptx_token name;
	uint32_t align, number;

	if (ptx_parse_variable(lexer, &name, &variable, &align))
		return 0;
	if (space == SPACE_GLOBAL)
		variable.kind = name.length > sizeof(library) &&
				!memcmp(name.text, library, sizeof(library) - 1)
			? VARIABLE_TABLE
			: VARIABLE_MODULE;
	else if (space == SPACE_CONST)
		variable.kind = VARIABLE_CONSTANT;
	number = ptx_names_add(&module->variables, name.text, name.length, 0);
	if (number == PTX_NO_NAME || number == DECLARED_LIMIT ||
		PTX_ROOM(module->variable, module->variable_room, number))
		return -1;
	module->variable[number] = variable;
	return 0;
}

/* Parses one word at the top level of the text. */
static int parse_word(struct ptx_module *module, struct ptx_lexer *lexer,
	const struct ptx_token *token)
{
	int space;

	if (ptx_is(token, ".entry") || ptx_is(token, ".func"))
		return add_function(module, lexer, token->text[1] == 'e', token->text);
	space = *token->text == '.' ? ptx_space(token->text + 1, token->length - 1) : -1;
	if (space > SPACE_GENERIC && space != SPACE_PARAM) {
		if (add_variable(module, lexer, space))
			return -1;
		/* An initializer may be long. */
		ptx_skip_statement(lexer);
	} else if (ptx_is(token, ".file") || ptx_is(token, ".loc")) {
		ptx_skip_line(lexer);
	}
	return 0;
}

static int parse_declarations(struct ptx_module *module, const char *text, size_t size)
{
	struct ptx_lexer lexer = { text, text + size };
	struct ptx_token token;

	while ((token = ptx_next(&lexer)).kind != TOKEN_END) {
		if (ptx_is_character(&token, '{'))
			ptx_skip_braces(&lexer);
		else if (token.kind == TOKEN_WORD && parse_word(module, &lexer, &token))
			return -1;
	}
	module->kernel = calloc(module->function_count + 1, sizeof(*module->kernel));
	if (!module->kernel)
		return -1;
	for (uint32_t i = 0; i < module->function_count; i++)
		if (module->function[i].is_kernel && module->function[i].has_body)
			module->kernel[module->kernel_count++] = i;
	module->variable_total = module->variables.count;
	return 0;
}

struct ptx_module *ptx_open(const char *text, size_t size, char error[IMAGE_ERROR_SIZE])
{
	struct ptx_module *module = calloc(1, sizeof(*module));

	if (module && !parse_declarations(module, text, size))
		return module;
	image_fail(error, "out of memory, or too many functions or variables");
	ptx_close(module);
	return NULL;
}

void ptx_close(struct ptx_module *module)
{
	if (!module)
		return;
	for (uint32_t i = 0; i < module->function_count; i++)
		ptx_function_release(&module->function[i]);
	if (module->close)
		module->close(module);
	free(module->function);
	free(module->kernel);
	free(module->variable);
	ptx_names_release(&module->functions);
	ptx_names_release(&module->variables);
	free(module);
}

void ptx_set_arch(struct ptx_module *module, unsigned arch)
{
	module->arch = arch;
}

size_t ptx_kernel_count(const struct ptx_module *module)
{
	return module->kernel_count;
}

long ptx_find(const struct ptx_module *module, const char *name, size_t length)
{
	uint32_t number = ptx_names_find(&module->functions, name, length, 0);

	/* Both are in the order of the text. */
	for (uint32_t low = 0, high = module->kernel_count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (module->kernel[middle] == number)
			return middle;
		if (module->kernel[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

int ptx_variable(const struct ptx_module *module, uint32_t offset,
	struct ptx_variable_name *variable)
{
	uint32_t number = (offset - PTX_PARAMETER_LIMIT) / 8;

	if (offset < PTX_PARAMETER_LIMIT || number >= module->variables.count)
		return -1;
	*variable = (struct ptx_variable_name){ module->variables.name[number].text,
		module->variables.name[number].length, module->variable[number].bytes };
	return 0;
}

/* --- a function's header: parameters and results --- */

/* Start of a kernel's parameters in constant bank 0, as in compiled cubins. */
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

/* Each parameter is at the next multiple of its alignment, relative to the bank, not the buffer. */
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

/* Parses a list in parentheses: .param declarations, for .func also .reg. */
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
