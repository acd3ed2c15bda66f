/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the body of a function: declarations, labels and instructions with their operands. */
#include "ptx_internal.h"

#include <stdlib.h>

/*
 * The largest kernels of NVIDIA's libraries have some ten thousand instructions.  Code beyond it is
 * refused: its kernels are not known, and kernel_code.why says so.
 */
#define INSTRUCTION_LIMIT 200000

struct parser {
	struct ptx_module *module;
	struct ptx_function *function;
	struct ptx_lexer lexer;
	uint32_t argument_room, table_room, target_room;
	unsigned depth; /* of braces */
};

static int add_operand(struct parser *parser, uint32_t kind, uint32_t number, int64_t value)
{
	struct ptx_function *function = parser->function;

	if (PTX_ROOM(function->operand, function->operand_room, function->operand_count))
		return ptx_refuse(function, "out of memory");
	function->operand[function->operand_count++] = (struct ptx_operand){ kind, number, value };
	return 0;
}

static int special_of(const struct ptx_token *token)
{
	static const char *const names[] = {
		[SPECIAL_TID_X] = "%tid.x",
		[SPECIAL_TID_Y] = "%tid.y",
		[SPECIAL_TID_Z] = "%tid.z",
		[SPECIAL_NTID_X] = "%ntid.x",
		[SPECIAL_NTID_Y] = "%ntid.y",
		[SPECIAL_NTID_Z] = "%ntid.z",
		[SPECIAL_CTAID_X] = "%ctaid.x",
		[SPECIAL_CTAID_Y] = "%ctaid.y",
		[SPECIAL_CTAID_Z] = "%ctaid.z",
		[SPECIAL_NCTAID_X] = "%nctaid.x",
		[SPECIAL_NCTAID_Y] = "%nctaid.y",
		[SPECIAL_NCTAID_Z] = "%nctaid.z",
		[SPECIAL_LANEID] = "%laneid",
		[SPECIAL_WARPID] = "%warpid",
		[SPECIAL_NWARPID] = "%nwarpid",
	};
	static const char *const others[] = {
		"%clock",
		"%clock64",
		"%clock_hi",
		"%globaltimer",
		"%globaltimer_lo",
		"%globaltimer_hi",
		"%smid",
		"%nsmid",
		"%gridid",
		"%total_smem_size",
		"%dynamic_smem_size",
		"%aggr_smem_size",
		"%is_explicit_cluster",
		"%lanemask_eq",
		"%lanemask_le",
		"%lanemask_lt",
		"%lanemask_ge",
		"%lanemask_gt",
		"%reserved_smem_offset_begin",
		"%reserved_smem_offset_end",
		"%reserved_smem_offset_cap",
		"%current_graph_exec",
	};

	for (int i = 0; i < SPECIAL_OTHER; i++)
		if (ptx_is(token, names[i]))
			return i;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (ptx_is(token, others[i]))
			return SPECIAL_OTHER;
	/* %cluster_ctaid.x and similar; apart from vectors, no register has a dot in its name. */
	return *token->text == '%' && memchr(token->text, '.', token->length) ? SPECIAL_OTHER : -1;
}

/* Floating-point numbers are kept as bits; their values do not matter. */
static int add_number(struct parser *parser, const struct ptx_token *token, int negative)
{
	uint64_t value = 0;

	if (ptx_number(token, &value))
		return add_operand(parser, OPERAND_UNKNOWN, 0, 0);
	return add_operand(parser, OPERAND_NUMBER, 0, (int64_t)(negative ? -value : value));
}

static int add_name(struct parser *parser, const struct ptx_token *token)
{
	struct ptx_function *function = parser->function;
	int special = *token->text == '%' ? special_of(token) : -1;
	uint32_t number;

	if (special >= 0)
		return add_operand(parser, OPERAND_SPECIAL, (uint32_t)special, 0);
	if (ptx_is(token, "_"))
		return add_operand(parser, OPERAND_SINK, 0, 0);
	if (ptx_is(token, "WARP_SZ"))
		return add_operand(parser, OPERAND_NUMBER, 0, 32);
	number = ptx_names_find(&function->variables, token->text, token->length, 0);
	if (number != PTX_NO_NAME)
		return add_operand(parser, OPERAND_VARIABLE, PTX_OWN | number, 0);
	number = ptx_names_find(&parser->module->variables, token->text, token->length, 0);
	if (number != PTX_NO_NAME)
		return add_operand(parser, OPERAND_VARIABLE, number, 0);
	number = ptx_names_find(&parser->module->functions, token->text, token->length, 0);
	if (number != PTX_NO_NAME)
		return add_operand(parser, OPERAND_FUNCTION, number, 0);
	if (ptx_names_find(&function->labels, token->text, token->length, 0) != PTX_NO_NAME)
		return add_operand(parser, OPERAND_LABEL,
			ptx_names_find(&function->labels, token->text, token->length, 0), 0);
	number = ptx_names_add(&function->registers, token->text, token->length, -1);
	if (number == PTX_NO_NAME)
		return ptx_refuse(function, "out of memory");
	return add_operand(parser, OPERAND_REGISTER, number, 0);
}

/* A name or a number, with an optional sign, and optionally followed by "+4". */
static int add_simple(struct parser *parser)
{
	struct ptx_lexer *lexer = &parser->lexer;
	uint32_t at = parser->function->operand_count;
	int negative = ptx_take(lexer, '-');
	struct ptx_token token = ptx_next(lexer);
	uint64_t offset = 0;
	int rc;

	if (token.kind != TOKEN_WORD)
		return ptx_refuse(parser->function, "an operand that is not understood");
	rc = *token.text >= '0' && *token.text <= '9' ? add_number(parser, &token, negative)
						      : add_name(parser, &token);
	while (!rc && ptx_take(lexer, '+')) {
		negative = ptx_take(lexer, '-');
		token = ptx_next(lexer);
		if (ptx_number(&token, &offset))
			return ptx_refuse(parser->function, "an offset that is not understood");
		if (negative)
			offset = -offset;
		offset += (uint64_t)parser->function->operand[at].value;
		parser->function->operand[at].value = (int64_t)offset;
	}
	return rc;
}

static int add_vector(struct parser *parser, char end)
{
	struct ptx_function *function = parser->function;
	uint32_t at = function->operand_count;

	if (add_operand(parser, OPERAND_VECTOR, 0, 0))
		return -1;
	if (ptx_take(&parser->lexer, end))
		return 0;
	do {
		if (add_simple(parser))
			return -1;
	} while (ptx_take(&parser->lexer, ','));
	function->operand[at].number = function->operand_count - at - 1;
	if (ptx_take(&parser->lexer, end))
		return 0;
	return ptx_refuse(function, "an operand that is not understood");
}

/* [register+4], [variable+4], [4], [map, {x, y}] */
static int add_address(struct parser *parser)
{
	struct ptx_function *function = parser->function;
	uint32_t at = function->operand_count;

	if (add_operand(parser, OPERAND_ADDRESS, 0, 0) || add_simple(parser))
		return -1;
	if (function->operand[at + 1].kind == OPERAND_REGISTER) {
		function->operand[at].value = function->operand[at + 1].value;
		function->operand[at + 1].value = 0;
	}
	while (ptx_take(&parser->lexer, ',')) {
		uint32_t keep = function->operand_count;

		/* Coordinates do not affect the address. */
		if (ptx_take(&parser->lexer, '{') ? add_vector(parser, '}') : add_simple(parser))
			return -1;
		function->operand_count = keep;
	}
	if (ptx_take(&parser->lexer, ']'))
		return 0;
	return ptx_refuse(function, "an address that is not understood");
}

/* p|q are two results: stored as a vector. */
static int add_pair(struct parser *parser, uint32_t at)
{
	struct ptx_function *function = parser->function;

	if (function->operand_count - at != 1 || add_simple(parser) ||
		add_operand(parser, OPERAND_SINK, 0, 0))
		return ptx_refuse(function, "an operand that is not understood");
	memmove(&function->operand[at + 1], &function->operand[at], 2 * sizeof(*function->operand));
	function->operand[at] = (struct ptx_operand){ OPERAND_VECTOR, 2, 0 };
	return 0;
}

static int add_any(struct parser *parser)
{
	uint32_t at = parser->function->operand_count;
	int rc;

	ptx_take(&parser->lexer, '!');
	if (ptx_take(&parser->lexer, '['))
		return add_address(parser);
	if (ptx_take(&parser->lexer, '{'))
		return add_vector(parser, '}');
	if (ptx_take(&parser->lexer, '('))
		return add_vector(parser, ')');
	rc = add_simple(parser);
	return !rc && ptx_take(&parser->lexer, '|') ? add_pair(parser, at) : rc;
}

static const struct {
	const char *name;
	uint16_t bit;
} modifier_names[] = {
	{ "wide", MODIFIER_WIDE },
	{ "hi", MODIFIER_HIGH },
	{ "to", MODIFIER_TO },
	{ "async", MODIFIER_ASYNC },
	{ "bulk", MODIFIER_BULK },
	{ "tensor", MODIFIER_TENSOR },
	{ "reduce", MODIFIER_REDUCE },
	{ "red", MODIFIER_REDUCE },
	{ "ld_reduce", MODIFIER_LOAD },
	{ "st", MODIFIER_STORE },
	{ "store", MODIFIER_STORE },
	{ "load", MODIFIER_LOAD },
	{ "prefetch", MODIFIER_PREFETCH },
	{ "commit_group", MODIFIER_WAIT },
	{ "wait_group", MODIFIER_WAIT },
	{ "wait_all", MODIFIER_WAIT },
	{ "wait", MODIFIER_WAIT },
	{ "launch_dependents", MODIFIER_LAUNCH },
	{ "mbarrier", MODIFIER_WAIT },
	{ "volatile", MODIFIER_STRONG },
	{ "relaxed", MODIFIER_STRONG },
	{ "acquire", MODIFIER_STRONG },
	{ "mmio", MODIFIER_STRONG },
	{ "cg", MODIFIER_STRONG },
	{ "cv", MODIFIER_STRONG },
};

static const char *const compare_names[][4] = {
	[COMPARE_EQ] = { "eq", "equ" },
	[COMPARE_NE] = { "ne", "neu" },
	[COMPARE_LT] = { "lt", "ltu", "lo" },
	[COMPARE_LE] = { "le", "leu", "ls" },
	[COMPARE_GT] = { "gt", "gtu", "hi" },
	[COMPARE_GE] = { "ge", "geu", "hs" },
};

static int is_part(const char *part, size_t length, const char *name)
{
	return name && strlen(name) == length && !memcmp(part, name, length);
}

/* Parses the part of an opcode between two dots. */
static void parse_part(struct ptx_instruction *in, const char *part, size_t length)
{
	struct ptx_type type = ptx_type(part, length);
	int space = ptx_space(part, length);

	if (type.bytes) {
		/*
		 * cvt names the result's type first; otherwise the last type is that of the
		 * operands.
		 */
		in->source = type;
		if (in->opcode != OP_CVT || !in->type.bytes)
			in->type = type;
	} else if (space >= 0) {
		if (in->spaces++)
			in->source_space = (uint8_t)space;
		else
			in->space = (uint8_t)space;
	} else if (length == 2 && part[0] == 'v' && part[1] >= '2' && part[1] <= '8') {
		in->vector = (uint8_t)(part[1] - '0');
	}
	if (in->opcode == OP_SETP) {
		for (uint8_t c = COMPARE_EQ; c <= COMPARE_GE; c++)
			for (int i = 0; i < 4; i++)
				if (is_part(part, length, compare_names[c][i]))
					in->compare = c;
		if (is_part(part, length, "and") || is_part(part, length, "or") ||
			is_part(part, length, "xor"))
			in->modifiers |= MODIFIER_COMBINED;
	}
	if (in->opcode == OP_ATOM) {
		static const char *const repeating[] = { "cas", "exch", "and", "or", "min", "max" };

		for (size_t i = 0; i < sizeof(repeating) / sizeof(*repeating); i++)
			if (is_part(part, length, repeating[i]))
				in->update = PTX_REPEATS;
	}
	for (size_t i = 0; i < sizeof(modifier_names) / sizeof(*modifier_names); i++)
		if (is_part(part, length, modifier_names[i].name))
			in->modifiers |= modifier_names[i].bit;
}

static void take_opcode(struct ptx_instruction *in, const struct ptx_token *token)
{
	static const char *const names[] = {
#define X(opcode, name) name,
		PTX_OPCODES(X)
#undef X
	};
	const char *at = token->text, *end = at + token->length, *dot;

	dot = memchr(at, '.', token->length);
	for (in->opcode = 0; in->opcode < OP_OTHER; in->opcode++)
		if (is_part(at, (size_t)((dot ? dot : end) - at), names[in->opcode]))
			break;
	while (dot) {
		at = dot + 1;
		dot = memchr(at, '.', (size_t)(end - at));
		parse_part(in, at, (size_t)((dot ? dot : end) - at));
	}
}

/* Returns the register that stands for bytes of a call's argument. */
static uint32_t argument_register(struct parser *parser, uint32_t variable, int64_t offset)
{
	struct ptx_function *function = parser->function;
	const struct ptx_name *name = &function->variables.name[variable];
	uint32_t reg, before = function->registers.count;

	if (offset < 0 || offset > PTX_PARAMETER_LIMIT)
		return PTX_NO_NAME;
	reg = ptx_names_add(&function->registers, name->text, name->length, (int32_t)offset);
	if (reg != before || reg == PTX_NO_NAME)
		return reg;
	if (PTX_ROOM(function->argument, parser->argument_room, function->argument_count))
		return PTX_NO_NAME;
	function->argument[function->argument_count++] =
		(struct ptx_argument){ variable, reg, (int32_t)offset };
	return reg;
}

/*
 * Turns ld.param and st.param of a call's arguments into moves.  Operands are an address of two
 * operands and a register or vector, in either order.
 */
static int rewrite_argument(struct parser *parser, struct ptx_instruction *in)
{
	struct ptx_function *function = parser->function;
	struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t data = in->opcode == OP_ST ? 2 : 0, count = 1, address, variable;
	struct ptx_operand moved[16];
	int64_t offset;

	if (in->count < 3)
		return 0;
	address = in->opcode == OP_ST ? 0 : ptx_operand_end(operand, 0);
	if (address + 1 >= in->count || operand[address].kind != OPERAND_ADDRESS ||
		operand[address + 1].kind != OPERAND_VARIABLE ||
		!(operand[address + 1].number & PTX_OWN))
		return 0;
	variable = operand[address + 1].number & ~PTX_OWN;
	offset = operand[address + 1].value;
	if (function->variable[variable].kind != VARIABLE_ARGUMENT &&
		function->variable[variable].kind != VARIABLE_FORMAL)
		return 0;
	if (operand[data].kind == OPERAND_VECTOR)
		count = operand[data++].number;
	if (count > 8)
		return ptx_refuse(function, "an operand that is not understood");
	if (offset < 0 || offset > PTX_PARAMETER_LIMIT)
		return ptx_refuse(function, "an argument that is not understood");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t reg = argument_register(parser, variable, offset + i * in->type.bytes);

		if (reg == PTX_NO_NAME)
			return ptx_refuse(function, "an argument that is not understood");
		moved[in->opcode == OP_ST ? i : count + i] =
			(struct ptx_operand){ OPERAND_REGISTER, reg, 0 };
		moved[in->opcode == OP_ST ? count + i : i] = operand[data + i];
	}
	function->operand_count = in->operand;
	if (add_operand(parser, OPERAND_VECTOR, count, 0))
		return -1;
	for (uint32_t i = 0; i < 2 * count; i++) {
		if (i == count && add_operand(parser, OPERAND_VECTOR, count, 0))
			return -1;
		if (add_operand(parser, moved[i].kind, moved[i].number, moved[i].value))
			return -1;
	}
	in->opcode = OP_MOV;
	in->count = (uint16_t)(function->operand_count - in->operand);
	return 0;
}

/* Parses what follows the guard. */
static int parse_instruction(struct parser *parser, const struct ptx_token *opcode, int32_t guard,
	int negated)
{
	struct ptx_function *function = parser->function;
	struct ptx_instruction in = {
		.guard = guard,
		.negated = negated != 0,
		.vector = 1,
		.operand = function->operand_count,
	};

	take_opcode(&in, opcode);
	if (!ptx_take(&parser->lexer, ';')) {
		do {
			if (add_any(parser))
				return -1;
		} while (ptx_take(&parser->lexer, ','));
		if (!ptx_take(&parser->lexer, ';'))
			return ptx_refuse(function, "an instruction that is not understood");
	}
	if (function->operand_count - in.operand > UINT16_MAX ||
		function->instruction_count >= INSTRUCTION_LIMIT)
		return ptx_refuse(function, "too large");
	in.count = (uint16_t)(function->operand_count - in.operand);
	if ((in.opcode == OP_LD || in.opcode == OP_ST) && in.space == SPACE_PARAM &&
		rewrite_argument(parser, &in))
		return -1;
	if (PTX_ROOM(function->instruction, function->instruction_room,
		    function->instruction_count))
		return ptx_refuse(function, "out of memory");
	function->instruction[function->instruction_count++] = in;
	return 0;
}

static int parse_guarded(struct parser *parser)
{
	int negated = ptx_take(&parser->lexer, '!');
	struct ptx_token token = ptx_next(&parser->lexer);
	uint32_t reg;

	if (token.kind != TOKEN_WORD)
		return ptx_refuse(parser->function, "a predicate that is not understood");
	reg = ptx_names_add(&parser->function->registers, token.text, token.length, -1);
	if (reg == PTX_NO_NAME)
		return ptx_refuse(parser->function, "out of memory");
	token = ptx_next(&parser->lexer);
	return parse_instruction(parser, &token, (int32_t)reg, negated);
}

/* label: .branchtargets a, b, c; */
static int parse_targets(struct parser *parser, uint32_t label)
{
	struct ptx_function *function = parser->function;
	struct ptx_table *table;

	if (PTX_ROOM(function->table, parser->table_room, function->table_count))
		return ptx_refuse(function, "out of memory");
	table = &function->table[function->table_count++];
	*table = (struct ptx_table){ label, function->target_count, 0 };
	do {
		struct ptx_token token = ptx_next(&parser->lexer);
		uint32_t target = ptx_names_find(&function->labels, token.text, token.length, 0);

		if (target == PTX_NO_NAME ||
			PTX_ROOM(function->target, parser->target_room, function->target_count))
			return ptx_refuse(function, "a branch that is not understood");
		function->target[function->target_count++] = target;
		table->count++;
	} while (ptx_take(&parser->lexer, ','));
	return ptx_take(&parser->lexer, ';')
		? 0
		: ptx_refuse(function, "a branch that is not understood");
}

static int parse_label(struct parser *parser, const struct ptx_token *token)
{
	struct ptx_function *function = parser->function;
	uint32_t label = ptx_names_find(&function->labels, token->text, token->length, 0);
	struct ptx_token next = ptx_peek(&parser->lexer);

	if (label == PTX_NO_NAME)
		return ptx_refuse(function, "a label that is not understood");
	function->label[label] = function->instruction_count;
	if (!ptx_is(&next, ".branchtargets"))
		return 0;
	ptx_next(&parser->lexer);
	return parse_targets(parser, label);
}

static int parse_directive(struct parser *parser, const struct ptx_token *token)
{
	struct ptx_variable variable = { .kind = VARIABLE_SHARED };
	int space = ptx_space(token->text + 1, token->length - 1);
	struct ptx_token name;
	uint32_t align;

	if (ptx_is(token, ".loc") || ptx_is(token, ".file")) {
		ptx_skip_line(&parser->lexer);
		return 0;
	}
	if (space > SPACE_GENERIC) {
		if (ptx_parse_variable(&parser->lexer, &name, &variable, &align))
			return ptx_refuse(parser->function, "a variable that is not understood");
		if (space == SPACE_LOCAL)
			variable.kind = VARIABLE_LOCAL;
		else if (space == SPACE_GLOBAL)
			variable.kind = VARIABLE_MODULE;
		else if (space == SPACE_PARAM)
			variable.kind = VARIABLE_ARGUMENT;
		if (ptx_add_variable(parser->function, &name, variable) == PTX_NO_NAME)
			return ptx_refuse(parser->function, "out of memory");
	}
	ptx_skip_statement(&parser->lexer);
	return 0;
}

static int parse_statement(struct parser *parser, const struct ptx_token *token)
{
	if (ptx_is_character(token, '{') || ptx_is_character(token, '}')) {
		parser->depth += token->character == '{' ? 1u : -1u;
		return 0;
	}
	if (ptx_is_character(token, ';'))
		return 0;
	if (ptx_is_character(token, '@'))
		return parse_guarded(parser);
	if (token->kind != TOKEN_WORD)
		return ptx_refuse(parser->function, "a statement that is not understood");
	if (ptx_take(&parser->lexer, ':'))
		return parse_label(parser, token);
	if (*token->text == '.')
		return parse_directive(parser, token);
	return parse_instruction(parser, token, -1, 0);
}

/* Finds labels before the instructions that name them are used. */
static int find_labels(struct ptx_function *function)
{
	struct ptx_lexer lexer = { function->body, function->end };
	struct ptx_token token, before = { .kind = TOKEN_END };

	while ((token = ptx_next(&lexer)).kind != TOKEN_END) {
		if (ptx_is_character(&token, ':') && before.kind == TOKEN_WORD &&
			ptx_names_add(&function->labels, before.text, before.length, 0) ==
				PTX_NO_NAME)
			return ptx_refuse(function, "out of memory");
		before = token;
	}
	function->label = malloc((function->labels.count + 1) * sizeof(*function->label));
	if (!function->label)
		return ptx_refuse(function, "out of memory");
	for (uint32_t i = 0; i < function->labels.count; i++)
		function->label[i] = UINT32_MAX;
	return 0;
}

int ptx_parse_code(struct ptx_module *module, struct ptx_function *function)
{
	struct parser parser = {
		.module = module,
		.function = function,
		.depth = 1,
		.lexer = { function->body, function->end },
	};
	struct ptx_token token;

	if (find_labels(function) ||
		PTX_ROOM(function->operand, function->operand_room, function->operand_count))
		return -1;
	while (parser.depth && (token = ptx_next(&parser.lexer)).kind != TOKEN_END)
		if (parse_statement(&parser, &token))
			return -1;
	return parser.depth ? ptx_refuse(function, "a body without an end") : 0;
}
