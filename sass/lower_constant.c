/* SPDX-License-Identifier: Apache-2.0 */
/* Constant banks: parameters, words of the driver and the compiler, variables. */
#include "lower_internal.h"

/* Variables that lower.c adds to each kernel. */
enum { VARIABLE_OF_PARAMETERS, VARIABLE_OF_STACK, VARIABLE_OF_SHARED };

static struct ptx_operand variable(uint32_t number, int64_t offset)
{
	return (struct ptx_operand){ OPERAND_VARIABLE, PTX_OWN | number, offset };
}

/* Returns the module's variable with that name. */
static struct ptx_operand named_variable(struct lower *lower, const char *name,
	struct ptx_variable variable, int64_t offset)
{
	struct ptx_module *module = lower->module;
	uint32_t number;

	number = ptx_names_add(&module->variables, name, strlen(name), 0);
	if (number == PTX_NO_NAME || number >= 100000 ||
		PTX_ROOM(module->variable, module->variable_room, number)) {
		lower_refuse(lower, "out of memory");
		return lower_unknown;
	}
	if (number + 1 == module->variables.count)
		module->variable[number] = variable;
	return (struct ptx_operand){ OPERAND_VARIABLE, number, offset };
}

static struct ptx_operand module_variable(struct lower *lower,
	const struct machine_relocation *relocation)
{
	static const char library[] = "__cudart_";
	const char *name = relocation->symbol;
	int is_table = !strncmp(name, library, sizeof(library) - 1);

	if (relocation->is_function || !*name)
		return lower_unknown;
	return named_variable(lower, name,
		(struct ptx_variable){ .kind = is_table ? VARIABLE_TABLE : VARIABLE_MODULE },
		relocation->addend);
}

/* Returns four bytes of the parameters, which may be half of a pointer. */
static struct ptx_operand parameter(struct lower *lower, int64_t offset)
{
	struct ptx_operand to = lower_reg(lower_temp(lower));
	struct ptx_instruction *made = lower_begin(lower, OP_LD, CLASS_BITS, 4);

	made->space = SPACE_PARAM;
	made->modifiers = MODIFIER_HALF;
	lower_add(lower, to);
	lower_add_address(lower, variable(VARIABLE_OF_PARAMETERS, offset), 0);
	return to;
}

static struct ptx_operand half_of_window(struct lower *lower, struct ptx_operand window,
	int is_high)
{
	struct ptx_operand half = lower_reg(lower_temp(lower));

	lower_unpack(lower, is_high ? lower_sink : half, is_high ? half : lower_sink, window);
	return half;
}

struct ptx_operand lower_shared_window(struct lower *lower)
{
	return half_of_window(lower, variable(VARIABLE_OF_SHARED, 0), 1);
}

/* Returns an address in the constant bank, as a driver word has it. */
static struct ptx_operand bank_address(const struct lower *lower, enum machine_word word)
{
	uint32_t begin =
		word == MACHINE_WORD_BANK ? 0 : machine_parameters_begin(lower->code->arch);

	return variable(VARIABLE_OF_PARAMETERS, (int64_t)begin - lower->kernel->parameter_base);
}

/* Returns a word that the driver puts below the parameters. */
static struct ptx_operand driver_word(struct lower *lower, uint32_t offset)
{
	enum machine_word word = machine_driver_word(lower->code->arch, offset);

	switch (word) {
	case MACHINE_WORD_BLOCK_X:
	case MACHINE_WORD_BLOCK_Y:
	case MACHINE_WORD_BLOCK_Z:
		return (struct ptx_operand){ OPERAND_SPECIAL,
			SPECIAL_NTID_X + (word - MACHINE_WORD_BLOCK_X), 0 };
	case MACHINE_WORD_GRID_X:
	case MACHINE_WORD_GRID_Y:
	case MACHINE_WORD_GRID_Z:
		return (struct ptx_operand){ OPERAND_SPECIAL,
			SPECIAL_NCTAID_X + (word - MACHINE_WORD_GRID_X), 0 };
	case MACHINE_WORD_STACK:
		return variable(VARIABLE_OF_STACK, 0);
	case MACHINE_WORD_BANK:
	case MACHINE_WORD_PARAMETERS:
		return half_of_window(lower, bank_address(lower, word), 0);
	case MACHINE_WORD_SHARED:
		return half_of_window(lower, variable(VARIABLE_OF_SHARED, 0), 0);
	case MACHINE_WORD_LOCAL:
		/* Addresses on the stack are added to it. */
		return lower_number(0);
	default:
		break;
	}
	/* The upper half of a word of 64 bits. */
	word = offset >= 4 ? machine_driver_word(lower->code->arch, offset - 4)
			   : MACHINE_WORD_OTHER;
	switch (word) {
	case MACHINE_WORD_BANK:
	case MACHINE_WORD_PARAMETERS:
		return half_of_window(lower, bank_address(lower, word), 1);
	case MACHINE_WORD_SHARED:
		return half_of_window(lower, variable(VARIABLE_OF_SHARED, 0), 1);
	case MACHINE_WORD_LOCAL:
		return lower_number(0);
	default:
		return lower_unknown;
	}
}

static struct ptx_operand bank_word(struct lower *lower, const struct machine_bank *bank,
	int64_t offset)
{
	int64_t at = offset & ~INT64_C(7);
	uint32_t word;

	for (size_t i = 0; i < bank->relocation_count; i++) {
		const struct machine_relocation *relocation = &bank->relocation[i];
		struct ptx_operand half, address;

		if (relocation->offset != (uint64_t)at || relocation->field != MACHINE_FIELD_64)
			continue;
		address = module_variable(lower, relocation);
		if (address.kind != OPERAND_VARIABLE)
			return lower_unknown;
		half = lower_reg(lower_temp(lower));
		if (offset == at)
			lower_unpack(lower, half, lower_sink, address);
		else
			lower_unpack(lower, lower_sink, half, address);
		return half;
	}
	if (offset < 0 || (uint64_t)offset + 4 > bank->size)
		return lower_unknown;
	if (!bank->data)
		return lower_number(0);
	memcpy(&word, bank->data + offset, sizeof(word));
	return lower_number((int32_t)word);
}

/* Returns the __constant__ variable at that offset in bank 3. */
static struct ptx_operand constant_variable(struct lower *lower, int64_t offset)
{
	for (uint32_t i = 0; i < lower->code->constant_count; i++) {
		const struct machine_variable *found = &lower->code->constant[i];

		if (offset < (int64_t)found->offset ||
			offset - (int64_t)found->offset >= (int64_t)found->size || !*found->name)
			continue;
		return named_variable(lower, found->name,
			(struct ptx_variable){ .kind = VARIABLE_CONSTANT,
				.bytes = (uint32_t)found->size },
			offset - (int64_t)found->offset);
	}
	return lower_number(offset);
}

/* The program may write to this bank: the value is unknown.  index: a register, or lower_sink. */
static struct ptx_operand program_constant(struct lower *lower, int64_t offset, unsigned bytes,
	struct ptx_operand index)
{
	struct ptx_operand where = constant_variable(lower, offset);
	struct ptx_operand to = lower_reg(lower_temp(lower));

	if (index.kind != OPERAND_SINK)
		where = lower_make(lower, OP_ADD, CLASS_SIGNED, 8, where, index, lower_sink);
	lower_begin(lower, OP_LD, CLASS_BITS, bytes)->space = SPACE_CONST;
	lower_add(lower, to);
	lower_add_address(lower, where, 0);
	return to;
}

void lower_read_constants(struct lower *lower)
{
	for (unsigned i = 0; i < lower->in.from_count; i++) {
		const struct sass_operand *from = &lower->in.from[i];

		if (from->kind == SASS_OPERAND_CONSTANT && from->bank == 3 &&
			from->bank_register == SASS_NONE && from->number == SASS_NONE)
			program_constant(lower, from->value, from->count > 1 ? 8 : 4, lower_sink);
	}
}

struct ptx_operand lower_constant(struct lower *lower, const struct sass_operand *from,
	unsigned word)
{
	const struct machine_section *kernel = lower->kernel;
	int64_t offset = from->value + 4 * (int64_t)word, inside = offset - kernel->parameter_base;

	if (from->bank_register != SASS_NONE || from->number != SASS_NONE || offset < 0)
		return lower_unknown;
	if (from->bank == 0 && inside >= 0 && inside + 4 <= kernel->parameter_bytes)
		return parameter(lower, inside);
	if (from->bank == 0)
		return driver_word(lower, (uint32_t)offset);
	if (from->bank == 3)
		return program_constant(lower, offset, 4, lower_sink);
	if (from->bank < sizeof(kernel->bank) / sizeof(*kernel->bank))
		return bank_word(lower, &kernel->bank[from->bank], offset);
	return lower_unknown;
}

static struct ptx_operand register_of(struct lower *lower, const struct sass_operand *from)
{
	struct sass_operand plain = {
		.kind = from->is_uniform ? SASS_OPERAND_UNIFORM : SASS_OPERAND_GENERAL,
		.number = from->number,
		.count = 1,
	};

	return lower_source(lower, &plain, 0);
}

/* LDC with a register loads one of several words of the parameters. */
int lower_load_constant(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	const struct sass_operand *from = &in->from[0], *to = &in->to[0];
	unsigned bytes = in->bytes ? in->bytes : 4, words = bytes > 4 ? bytes / 4 : 1;
	struct ptx_operand where;

	if (!in->to_count || from->kind != SASS_OPERAND_CONSTANT)
		return 0;
	if (from->number == SASS_NONE && bytes >= 4) {
		for (unsigned word = 0; word < words; word++)
			lower_move(lower, lower_target(lower, to, word),
				lower_constant(lower, from, word));
		return 1;
	}
	if (from->bank_register != SASS_NONE || (from->bank != 0 && from->bank != 3))
		return 1;
	where = from->number == SASS_NONE ? lower_number(0) : register_of(lower, from);
	if (from->bank == 3) {
		where = program_constant(lower, from->value, bytes, where);
		for (unsigned word = 0; word < words; word++)
			lower_move(lower, lower_target(lower, to, word), where);
		return 1;
	}
	where = lower_make(lower, OP_ADD, CLASS_SIGNED, 8,
		variable(VARIABLE_OF_PARAMETERS, from->value - lower->kernel->parameter_base),
		where, lower_sink);
	/* Eight bytes at a multiple of eight are one word. */
	for (unsigned pair = 0; pair < words / 2; pair++) {
		struct ptx_operand whole = lower_reg(lower_temp(lower)), low;

		lower_begin(lower, OP_LD, CLASS_BITS, 8)->space = SPACE_PARAM;
		lower_add(lower, whole);
		lower_add_address(lower, where, 8 * (int64_t)pair);
		low = lower_target(lower, to, 2 * pair);
		lower_unpack(lower, low, lower_target(lower, to, 2 * pair + 1), whole);
	}
	for (unsigned word = words / 2 * 2; word < words; word++) {
		struct ptx_operand target = lower_target(lower, to, word);
		struct ptx_instruction *made;

		if (target.kind == OPERAND_SINK)
			continue;
		made = lower_begin(lower, OP_LD,
			bytes < 4 ? (in->is_signed ? CLASS_SIGNED : CLASS_UNSIGNED) : CLASS_BITS,
			bytes < 4 ? bytes : 4);
		made->space = SPACE_PARAM;
		made->modifiers = bytes < 4 ? 0 : MODIFIER_HALF;
		lower_add(lower, target);
		lower_add_address(lower, where, 4 * word);
	}
	return 1;
}
