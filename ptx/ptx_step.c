/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets one instruction. */
#include "ptx_walk.h"

struct ptx_value ptx_read_register(struct ptx_frame *frame, const struct ptx_state *state,
	uint32_t reg)
{
	const struct ptx_register *known = &frame->function->reg[reg];
	struct ptx_value value;

	if (!known->relevant)
		return ptx_interval(INT64_MIN, INT64_MAX);
	value = known->slot == PTX_NO_SLOT ? frame->single[reg] : state->many[known->slot];
	ptx_settle(&value, state);
	return value;
}

void ptx_write_register(struct ptx_frame *frame, struct ptx_state *state, uint32_t reg,
	const struct ptx_value *value)
{
	const struct ptx_register *known = &frame->function->reg[reg];

	if (!known->relevant)
		return;
	if (known->slot == PTX_NO_SLOT)
		frame->single[reg] = *value;
	else
		state->many[known->slot] = *value;
}

static int is_first_thread(const struct ptx_state *state)
{
	const struct ptx_range *index = &state->range[SPECIAL_TID_X];

	return !index[0].high && !index[1].high && !index[2].high;
}

static struct ptx_value special(const struct ptx_operand *operand, const struct ptx_state *state)
{
	struct ptx_value value;

	if (operand->number < PTX_FIXED_SYMBOLS) {
		value = ptx_symbol_value(operand->number);
		ptx_settle(&value, state);
		return value;
	}
	if (operand->number == SPECIAL_LANEID)
		return ptx_interval(0, is_first_thread(state) ? 0 : 31);
	if (operand->number == SPECIAL_WARPID || operand->number == SPECIAL_NWARPID)
		return ptx_interval(0, 64);
	return ptx_interval(INT64_MIN, INT64_MAX);
}

static struct ptx_value address_of(const struct ptx_frame *frame, const struct ptx_operand *operand)
{
	uint32_t number = operand->number & ~PTX_OWN;
	int own = (operand->number & PTX_OWN) != 0;
	const struct ptx_variable *variable =
		own ? &frame->function->variable[number] : &frame->walk->module->variable[number];
	struct ptx_value value = ptx_constant(operand->value);

	switch (variable->kind) {
	case VARIABLE_MODULE:
	case VARIABLE_CONSTANT:
		value.base = own ? BASE_MODULE : BASE_WORD;
		value.id = own ? 0 : ptx_variable_word(number);
		value.pointer = 1;
		break;
	case VARIABLE_TABLE:
	case VARIABLE_SHARED:
		value.base = BASE_HARMLESS;
		break;
	case VARIABLE_LOCAL:
		value.base = BASE_LOCAL;
		value.id = own ? frame->function->variable_base + number : number;
		break;
	case VARIABLE_PARAMETER:
		value.base = BASE_PARAMETER;
		value.low = value.high = ptx_add_bound(operand->value, variable->offset);
		break;
	default:
		value.base = BASE_UNKNOWN;
		break;
	}
	return value;
}

struct ptx_value ptx_operand(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_operand *operand)
{
	struct ptx_value value;

	switch (operand->kind) {
	case OPERAND_REGISTER:
		value = ptx_read_register(frame, state, operand->number);
		if (operand->value) {
			value.low = ptx_add_bound(value.low, operand->value);
			value.high = ptx_add_bound(value.high, operand->value);
		}
		return value;
	case OPERAND_NUMBER:
		return ptx_constant(operand->value);
	case OPERAND_SPECIAL:
		return special(operand, state);
	case OPERAND_VARIABLE:
		return address_of(frame, operand);
	default:
		return ptx_interval(INT64_MIN, INT64_MAX);
	}
}

/* Returns the register that an instruction writes, if it is the only one. */
static long written_register(const struct ptx_frame *frame, uint32_t instruction)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];

	if (!ptx_written(function, in) || operand->kind != OPERAND_REGISTER)
		return -1;
	return operand->number;
}

struct ptx_value ptx_opaque(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	uint32_t which, struct ptx_range range, int loaded)
{
	struct ptx_value value = ptx_interval(range.low, range.high);
	long reg = written_register(frame, instruction);
	uint32_t symbol = PTX_NO_SYMBOL;

	/* The relevance of a vector's registers is not checked: they get symbols, too. */
	if (range.low < range.high &&
		(reg < 0 || frame->function->reg[reg].relevant == RELEVANT_ADDRESS))
		symbol = ptx_symbol(frame->walk, frame->path, instruction, which);
	if (symbol != PTX_NO_SYMBOL) {
		ptx_redefine(state, symbol, range);
		value = ptx_symbol_value(symbol);
	}
	value.loaded = loaded != 0;
	return value;
}

/* Four bytes of the parameters that might have been half of a pointer. */
static struct ptx_value number_of_half(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *half)
{
	int is_high = half->half == HALF_HIGH;
	struct ptx_value value = ptx_interval(INT32_MIN, UINT32_MAX), number = ptx_whole(half);
	struct ptx_range range = ptx_bounds(&number, state);
	uint32_t symbol = PTX_NO_SYMBOL;

	if (is_high && half->base == BASE_NUMBER && range.low >= 0 && range.high < INT64_MAX)
		value = ptx_interval(range.low >> 32, range.high >> 32);

	if (half->base == BASE_WORD && !half->pointer && half->id < PTX_PARAMETER_LIMIT &&
		(!is_high || (!half->count && !half->low && !half->high)))
		symbol = ptx_symbol(frame->walk, 0, half->id + (is_high ? 4 : 0),
			WHICH_PARAMETER + 4);
	value.loaded = 1;
	if (symbol == PTX_NO_SYMBOL)
		return value;
	if (state->range[symbol].low > state->range[symbol].high)
		state->range[symbol] = (struct ptx_range){ INT64_MIN, INT64_MAX };
	number.base = BASE_NUMBER;
	number.id = 0;
	value = ptx_symbol_value(symbol);
	return ptx_add_terms(&number, &value, 1) ? value : number;
}

/* Returns a number for a parameter word that is used as one. */
struct ptx_value ptx_number_of(struct ptx_frame *frame, struct ptx_state *state,
	struct ptx_value value)
{
	uint32_t symbol;

	if (value.half)
		return number_of_half(frame, state, &value);
	if (value.base == BASE_NUMBER)
		return value;
	symbol = value.base == BASE_WORD && !value.pointer
		? ptx_symbol(frame->walk, 0, value.id, WHICH_PARAMETER + 8)
		: PTX_NO_SYMBOL;
	if (symbol != PTX_NO_SYMBOL) {
		struct ptx_value number = ptx_symbol_value(symbol);

		if (state->range[symbol].low > state->range[symbol].high)
			state->range[symbol] = (struct ptx_range){ INT64_MIN, INT64_MAX };
		if (!ptx_add_terms(&value, &number, 1)) {
			value.base = BASE_NUMBER;
			value.id = 0;
			return value;
		}
	}
	return ptx_interval(INT64_MIN, INT64_MAX);
}

static int is_move(const struct ptx_instruction *in)
{
	return in->opcode == OP_MOV || in->opcode == OP_CVTA;
}

/* mov.b64 {low, high}, a and mov.b64 a, {low, high}; returns 0 for another instruction. */
static int move_halves(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];
	struct ptx_value whole, low, high;

	if (in->count != 4 || (operand->kind == OPERAND_VECTOR && operand->number != 2))
		return 0;
	if (operand->kind == OPERAND_VECTOR) {
		whole = ptx_operand(frame, state, &operand[3]);
		for (int i = 0; i < 2; i++) {
			low = ptx_take_half(state, &whole, i ? HALF_HIGH : HALF_LOW);
			if (operand[1 + i].kind == OPERAND_REGISTER)
				ptx_write_register(frame, state, operand[1 + i].number, &low);
		}
		return 1;
	}
	if (operand->kind != OPERAND_REGISTER || operand[1].kind != OPERAND_VECTOR ||
		operand[1].number != 2)
		return 0;
	low = ptx_operand(frame, state, &operand[2]);
	high = ptx_operand(frame, state, &operand[3]);
	whole = ptx_pack(frame, state, instruction, &low, &high);
	ptx_write_register(frame, state, operand->number, &whole);
	return 1;
}

/* mov {a, b}, {c, d}; mov {low, high}, c; mov a, {low, high}: only the first preserves values. */
static void move_vectors(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t first = ptx_operand_end(operand, 0);
	uint32_t count = operand->kind == OPERAND_VECTOR ? operand->number : 1;
	int same = operand->kind == OPERAND_VECTOR && first < in->count &&
		operand[first].kind == OPERAND_VECTOR && operand[first].number == count;
	struct ptx_value value[16];

	if (in->type.bytes == 8 && move_halves(frame, state, instruction))
		return;
	for (uint32_t i = 0; i < count && i < 16; i++) {
		value[i] = ptx_interval(INT64_MIN, INT64_MAX);
		if (same)
			value[i] = ptx_operand(frame, state, &operand[first + 1 + i]);
		else if (operand->kind != OPERAND_VECTOR || in->opcode == OP_MOV)
			value[i].base = BASE_UNKNOWN;
	}
	for (uint32_t i = 0; i < count && i < 16; i++) {
		const struct ptx_operand *to =
			operand->kind == OPERAND_VECTOR ? &operand[1 + i] : operand;

		if (to->kind == OPERAND_REGISTER)
			ptx_write_register(frame, state, to->number, &value[i]);
	}
}

/* Sets the results of an unknown instruction. */
void ptx_clobber_results(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	uint32_t end = ptx_written(function, in);

	for (uint32_t i = 0; i < end; i++) {
		const struct ptx_operand *operand = &function->operand[in->operand + i];
		struct ptx_range all = { INT64_MIN, INT64_MAX };
		struct ptx_value value;

		if (operand->kind != OPERAND_REGISTER)
			continue;
		value = ptx_opaque(frame, state, instruction, i, all, 1);
		value.base = in->type.bytes == 8 || !in->type.bytes ? BASE_UNKNOWN : BASE_NUMBER;
		ptx_write_register(frame, state, operand->number, &value);
	}
}

/* A guarded instruction leaves the previous value where it does not run. */
static struct ptx_value or_old(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, uint32_t reg, const struct ptx_value *value)
{
	struct ptx_value old = ptx_read_register(frame, state, reg), joined;
	struct ptx_range range = { 1, 0 };
	uint32_t symbol = PTX_NO_SYMBOL;

	if (frame->function->reg[reg].slot == PTX_NO_SLOT)
		return *value;
	if (frame->function->reg[reg].relevant == RELEVANT_ADDRESS)
		symbol = ptx_symbol(frame->walk, frame->path, instruction, WHICH_OLD);
	joined = ptx_join(frame, &old, state, value, state, symbol, &range);
	if (range.low <= range.high)
		ptx_redefine(state, symbol, range);
	return joined;
}

static int calculate(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];
	struct ptx_value value;

	if (!ptx_written(function, in))
		return 0;
	if (is_move(in) &&
		(operand->kind == OPERAND_VECTOR ||
			(in->count > 1 && operand[1].kind == OPERAND_VECTOR))) {
		move_vectors(frame, state, instruction);
		return 0;
	}
	if (in->type.class == CLASS_PREDICATE || in->opcode == OP_SETP ||
		in->opcode == OP_ISSPACEP) {
		ptx_set_condition(frame, in, state);
		return 0;
	}
	if (in->opcode == OP_SUM) {
		ptx_sum_registers(frame, state, instruction);
		return 0;
	}
	if (operand->kind != OPERAND_REGISTER) {
		ptx_clobber_results(frame, state, instruction);
		return 0;
	}
	if (!function->reg[operand->number].relevant)
		return 0;
	value = ptx_calculate(frame, state, instruction);
	if (in->guard >= 0)
		value = or_old(frame, state, instruction, operand->number, &value);
	ptx_write_register(frame, state, operand->number, &value);
	return 0;
}

int ptx_touches(const struct ptx_instruction *in)
{
	switch (in->opcode) {
	case OP_LD:
	case OP_LDU:
	case OP_ST:
	case OP_ATOM:
	case OP_RED:
	case OP_CP:
	case OP_TEX:
	case OP_TLD4:
	case OP_SULD:
	case OP_SUST:
	case OP_SURED:
	case OP_WMMA:
	case OP_MULTIMEM:
	case OP_PREFETCH:
	case OP_DISCARD:
	case OP_OTHER:
		return 1;
	default:
		return 0;
	}
}

int ptx_step(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];

	if (!frame->walk->steps)
		return ptx_fail(frame->walk, "too long");
	frame->walk->steps--;
	frame->walk->access->steps++;
	if (in->opcode == OP_GRIDDEPCONTROL)
		return 0;
	if (in->opcode == OP_CALL)
		return ptx_call(frame, state, instruction);
	if (ptx_touches(in)) {
		int rc = 0;

		/* Its reads and writes happen where its guard holds. */
		if (in->guard >= 0) {
			int possible;

			ptx_copy_knowledge(frame->spare, state);
			frame->is_guard_part =
				!ptx_assume(frame, state, (uint32_t)in->guard, !in->negated, 0);
			possible = state->possible;
			rc = possible ? ptx_claim_access(frame, state, instruction) : 0;
			frame->is_guard_part = 0;
			ptx_copy_knowledge(state, frame->spare);
			if (!possible)
				return 0;
		} else {
			rc = ptx_claim_access(frame, state, instruction);
		}
		return rc ? rc : ptx_read_memory(frame, state, instruction);
	}
	return calculate(frame, state, instruction);
}
