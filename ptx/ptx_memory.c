/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that read and write memory. */
#include "ptx_walk.h"

/* A cell's value may change so often before it is no longer followed. */
#define CELL_CHANGES 6
#define CELL_LIMIT 1024

static const struct ptx_range any = { INT64_MIN, INT64_MAX };

/* Cells belong to all times: only symbols that mean the same everywhere stay. */
static struct ptx_value timeless(const struct ptx_value *value, const struct ptx_state *state)
{
	struct ptx_value kept = *value;
	struct ptx_range range = ptx_bounds(value, state);

	for (unsigned i = 0; i < value->count; i++)
		if (value->term[i].symbol >= PTX_FIXED_SYMBOLS) {
			kept.count = 0;
			kept.low = range.low;
			kept.high = range.high;
		}
	return kept;
}

static void add_to_cell(struct ptx_walk *walk, struct ptx_cell *cell, const struct ptx_value *value)
{
	struct ptx_value joined = cell->value;
	struct ptx_range both;

	if (ptx_same(&joined, value))
		return;
	ptx_join_base(walk, &joined, value);
	if (joined.half != value->half) {
		joined.base = BASE_UNKNOWN;
		joined.half = HALF_NONE;
	}
	if (!ptx_same_terms(&joined, value)) {
		joined.count = 0;
		joined.low = INT64_MIN;
		joined.high = INT64_MAX;
	} else {
		both = ptx_hull((struct ptx_range){ joined.low, joined.high },
			(struct ptx_range){ value->low, value->high });
		joined.low = both.low;
		joined.high = both.high;
	}
	joined.loaded |= value->loaded;
	if (cell->changes >= CELL_CHANGES) {
		joined = ptx_interval(INT64_MIN, INT64_MAX);
		joined.base = BASE_UNKNOWN;
	}
	if (ptx_same(&joined, &cell->value))
		return;
	cell->changes++;
	cell->value = joined;
	walk->cells_changed = 1;
}

/*
 * This and load_local() know values of 8 bytes, or of machine code of 4.  A kernel has one of
 * these: wider accesses of machine code are several of 4.
 */
static int store_local(struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state, const struct ptx_value *value)
{
	struct ptx_range where = ptx_bounds(address, state);
	int64_t offset = where.low == where.high ? where.low : INT64_MIN;
	struct ptx_value kept = timeless(value, state);

	for (uint32_t i = 0; i < walk->cell_count; i++) {
		struct ptx_cell *cell = &walk->cell[i];

		if (cell->variable == address->id && cell->offset == offset) {
			add_to_cell(walk, cell, &kept);
			return 0;
		}
	}
	if (walk->cell_count == CELL_LIMIT ||
		PTX_ROOM(walk->cell, walk->cell_room, walk->cell_count))
		return ptx_fail(walk, "too much local memory");
	walk->cell[walk->cell_count++] =
		(struct ptx_cell){ .variable = address->id, .offset = offset, .value = kept };
	walk->cells_changed = 1;
	return 0;
}

static struct ptx_value load_local(struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state, int64_t bytes)
{
	struct ptx_range where = ptx_bounds(address, state);
	struct ptx_cell found = { .changes = 0 };
	int any_found = 0, changed = walk->cells_changed;

	for (uint32_t i = 0; i < walk->cell_count; i++) {
		const struct ptx_cell *cell = &walk->cell[i];

		if (cell->variable != address->id ||
			(cell->offset != INT64_MIN &&
				(cell->offset <= ptx_add_bound(where.low, -bytes) ||
					cell->offset > where.high)))
			continue;
		if (cell->offset != INT64_MIN && where.low == where.high &&
			cell->offset != where.low) {
			/* A piece of it. */
			any_found = 0;
			break;
		}
		if (any_found)
			add_to_cell(walk, &found, &cell->value);
		else
			found.value = cell->value;
		any_found = 1;
	}
	walk->cells_changed = changed;
	if (any_found)
		return found.value;
	found.value = ptx_interval(INT64_MIN, INT64_MAX);
	found.value.base = BASE_UNKNOWN;
	return found.value;
}

static struct ptx_value no_address(void)
{
	struct ptx_value value = ptx_interval(INT64_MIN, INT64_MAX);

	value.loaded = 1;
	return value;
}

static struct ptx_value address_at(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_operand *operand)
{
	struct ptx_value value = ptx_operand(frame, state, &operand[1]);

	if (value.half) {
		/* Of windows the low half is an address. */
		int is_window = value.base == BASE_LOCAL || value.base == BASE_HARMLESS;

		value = is_window && value.half == HALF_LOW ? ptx_whole(&value) : no_address();
	}
	value.low = ptx_add_bound(value.low, operand->value);
	value.high = ptx_add_bound(value.high, operand->value);
	return value;
}

/* bytes 0: any number. */
static int touch_global(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_operand *operand, int space, uint32_t bytes, int direction)
{
	struct ptx_value value = address_at(frame, state, operand);

	if (space == SPACE_CONST) {
		ptx_doubt(frame->walk, "it reads constant memory of its module");
		ptx_reach(frame->walk, PTX_REACH_CONSTANT, PTX_LOAD);
	}
	if (space == SPACE_CONST && (value.base == BASE_WORD || value.base == BASE_WORDS))
		return ptx_claim(frame, &value, state, bytes, direction);
	if (space == SPACE_CONST || space == SPACE_SHARED || space == SPACE_LOCAL ||
		value.base == BASE_HARMLESS || value.base == BASE_LOCAL)
		return 0;
	if (value.base == BASE_PARAMETER && direction != PTX_LOAD)
		ptx_doubt(frame->walk, "it writes to its parameters");
	else if (space != SPACE_PARAM && value.base != BASE_PARAMETER)
		return ptx_claim(frame, &value, state, bytes, direction);
	return 0;
}

static uint8_t local_bytes(const struct ptx_instruction *in)
{
	return in->modifiers & MODIFIER_HALF ? 4 : 8;
}

static int store(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_instruction *in, const struct ptx_operand *operand)
{
	const struct ptx_operand *data = &operand[2];
	uint32_t count = 1;
	struct ptx_value to = address_at(frame, state, operand);

	if (in->count > 2 && data->kind == OPERAND_VECTOR)
		count = (data++)->number;
	if (in->count > 2 && in->type.bytes == local_bytes(in) && to.base == BASE_LOCAL)
		for (uint32_t i = 0; i < count; i++) {
			struct ptx_value value = ptx_operand(frame, state, &data[i]);

			if (store_local(frame->walk, &to, state, &value))
				return -1;
			to.low = ptx_add_bound(to.low, in->type.bytes);
			to.high = ptx_add_bound(to.high, in->type.bytes);
		}
	if (in->type.bytes == 8 && in->space != SPACE_LOCAL && to.base == BASE_UNKNOWN)
		ptx_doubt(frame->walk, "an address that is not known");
	return touch_global(frame, state, operand, in->space, count * in->type.bytes, PTX_STORE);
}

static uint32_t vector_of(const struct ptx_instruction *in, const struct ptx_operand *data)
{
	return data->kind == OPERAND_VECTOR ? data->number : in->vector;
}

/* cp.async.ca.shared.global [to], [from], 16; cp.async.bulk.global.shared [to], [from], r */
static int copy(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_instruction *in, const struct ptx_operand *operand)
{
	uint32_t from, bytes = 0;

	if (in->count < 4 || operand->kind != OPERAND_ADDRESS ||
		operand[2].kind != OPERAND_ADDRESS) {
		if (in->count && !(in->modifiers & (MODIFIER_WAIT | MODIFIER_PREFETCH)))
			ptx_doubt(frame->walk, "a copy that is not understood");
		return 0;
	}
	from = 2;
	if (in->modifiers & MODIFIER_TENSOR) {
		ptx_doubt(frame->walk, "it uses tensor maps");
		ptx_reach(frame->walk, PTX_REACH_POINTER, PTX_STORE);
		return 0;
	}
	if (in->count > 4 && operand[4].kind == OPERAND_NUMBER)
		bytes = (uint32_t)operand[4].value;
	if (touch_global(frame, state, operand, in->space, bytes,
		    in->modifiers & MODIFIER_REDUCE ? PTX_ATOMIC : PTX_STORE))
		return -1;
	return touch_global(frame, state, &operand[from], in->source_space, bytes, PTX_LOAD);
}

static const struct ptx_operand *first_address(const struct ptx_instruction *in,
	const struct ptx_operand *operand)
{
	for (uint32_t i = 0; i + 1 < in->count; i++)
		if (operand[i].kind == OPERAND_ADDRESS)
			return &operand[i];
	return NULL;
}

/* Instructions of which nothing is known but that they name an address. */
static void touch_unknown(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_instruction *in, const struct ptx_operand *operand)
{
	for (uint32_t i = 0; i + 1 < in->count; i++) {
		struct ptx_value value;

		if (operand[i].kind != OPERAND_ADDRESS || in->space == SPACE_SHARED ||
			in->modifiers & MODIFIER_WAIT)
			continue;
		value = address_at(frame, state, &operand[i]);
		if (value.base != BASE_HARMLESS && value.base != BASE_LOCAL)
			ptx_doubt(frame->walk, "an instruction that is not understood");
	}
}

/* tex.1d.v4.f32.s32 {...}, [object, {x}]; sust.b.2d.b32.trap [object, {x, y}], {value} */
static int touch_object(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_instruction *in, const struct ptx_operand *address)
{
	int is_texture = in->opcode == OP_TEX || in->opcode == OP_TLD4;
	int direction = in->opcode == OP_SUST ? PTX_STORE
		: in->opcode == OP_SURED      ? PTX_ATOMIC
					      : PTX_LOAD;
	struct ptx_value object = { .base = BASE_UNKNOWN };

	if (address)
		object = address_at(frame, state, address);
	return ptx_claim_object(frame, &object, is_texture ? PTX_TEXTURE : PTX_SURFACE, direction);
}

int ptx_touch(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];
	const struct ptx_operand *operand = &frame->function->operand[in->operand];
	const struct ptx_operand *address = first_address(in, operand);

	frame->instruction = instruction;
	switch (in->opcode) {
	case OP_TEX:
	case OP_TLD4:
	case OP_SULD:
	case OP_SUST:
	case OP_SURED:
		return touch_object(frame, state, in, address);
	case OP_MULTIMEM:
	case OP_DISCARD:
		ptx_doubt(frame->walk, "an instruction that is not understood");
		return 0;
	case OP_PREFETCH:
		return 0;
	case OP_CP:
		return copy(frame, state, in, operand);
	default:
		break;
	}
	if (in->opcode == OP_OTHER || !address) {
		touch_unknown(frame, state, in, operand);
		return 0;
	}
	switch (in->opcode) {
	case OP_ST:
		return store(frame, state, in, operand);
	case OP_LD:
	case OP_LDU:
		return touch_global(frame, state, address, in->space,
			vector_of(in, operand) * in->type.bytes, PTX_LOAD);
	case OP_ATOM:
	case OP_RED:
		return touch_global(frame, state, address, in->space, in->vector * in->type.bytes,
			PTX_ATOMIC);
	default: /* wmma */
		return touch_global(frame, state, address, in->space, 0,
			in->modifiers & MODIFIER_STORE ? PTX_STORE : PTX_LOAD);
	}
}

/* Bytes of the parameter buffer as a value; state: enum ptx_byte of the launch. */
static struct ptx_value parameter(struct ptx_walk *walk, struct ptx_state *state, int64_t offset,
	struct ptx_type type)
{
	const struct ptx_launch *launch = walk->launch;
	struct ptx_value value = ptx_interval(INT64_MIN, INT64_MAX);
	uint32_t symbol, known = 0, at = (uint32_t)offset;
	uint64_t bits = 0;
	unsigned shift = 64u - type.bytes * 8u;

	if (offset < 0 || offset > walk->kernel->parameter_bytes ||
		offset + type.bytes > walk->kernel->parameter_bytes || !type.bytes ||
		type.bytes > 8 || type.class == CLASS_FLOAT)
		return value;
	for (unsigned i = 0; i < type.bytes && at + i < launch->size; i++)
		known += launch->state[at + i] == PTX_KNOWN;
	if (walk->collects && at + type.bytes <= walk->access->scalar_count)
		memset(walk->access->scalar + at, 1, type.bytes);
	if (known == type.bytes) {
		memcpy(&bits, launch->value + at, type.bytes);
		if (type.class == CLASS_UNSIGNED && type.bytes < 4)
			return ptx_constant((int64_t)bits);
		return ptx_constant((int64_t)(bits << shift) >> shift);
	}
	if (type.bytes == 8) {
		value = ptx_constant(0);
		value.base = BASE_WORD;
		value.id = at;
		value.pointer = at < launch->size && launch->state[at] == PTX_POINTER;
		return value;
	}
	symbol = ptx_symbol(walk, 0, at, WHICH_PARAMETER + type.bytes);
	if (symbol == PTX_NO_SYMBOL)
		return value;
	if (state->range[symbol].low > state->range[symbol].high)
		state->range[symbol] = any;
	return ptx_symbol_value(symbol);
}

/* Four bytes: a number, if that is known, or half of what may be a pointer. */
static struct ptx_value half_of_parameter(struct ptx_walk *walk, struct ptx_state *state,
	int64_t offset, struct ptx_type type)
{
	const struct ptx_launch *launch = walk->launch;
	int64_t at = offset & ~INT64_C(7);
	struct ptx_value value;

	if (offset < 0 || offset % 4 || at + 8 > walk->kernel->parameter_bytes ||
		(offset + 4 <= launch->size && launch->state[offset] == PTX_KNOWN &&
			launch->state[offset + 1] == PTX_KNOWN &&
			launch->state[offset + 2] == PTX_KNOWN &&
			launch->state[offset + 3] == PTX_KNOWN))
		return parameter(walk, state, offset, type);
	if (walk->collects && offset + 4 <= walk->access->scalar_count)
		memset(walk->access->scalar + offset, 1, 4);
	value = ptx_constant(0);
	value.base = BASE_WORD;
	value.id = (uint32_t)at;
	value.pointer = at < launch->size && launch->state[at] == PTX_POINTER;
	return ptx_take_half(state, &value, offset == at ? HALF_LOW : HALF_HIGH);
}

/* The offsets that an address may have: from low, at a stride, up to high. */
struct places {
	int64_t low, high, stride;
};

static struct places places_of(const struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state, int64_t bytes)
{
	struct ptx_range where = ptx_bounds(address, state);
	struct places places = { where.low, where.high, 0 };
	int64_t end = (int64_t)walk->kernel->parameter_bytes - bytes;

	for (unsigned i = 0; i < address->count; i++)
		for (int64_t a = address->term[i].factor < 0 ? -address->term[i].factor
							     : address->term[i].factor,
			     b = places.stride;
			;) {
			int64_t rest = b ? a % b : 0;

			places.stride = b ? b : a;
			if (!rest)
				break;
			a = b;
			b = rest;
		}
	if (address->low != address->high || !places.stride)
		places.stride = 1;
	if (places.low == INT64_MIN || places.low < 0)
		places.low = address->low == address->high && address->low >= 0
			? address->low % places.stride
			: 0;
	if (places.high > end)
		places.high = end;
	return places;
}

static int is_pointer(const struct ptx_launch *launch, int64_t at)
{
	return at < launch->size && launch->state[at] == PTX_POINTER;
}

/* One of several words: of any aligned one of them, or half of it. */
static struct ptx_value some_words(struct ptx_walk *walk, struct ptx_state *state,
	const struct places *places, int is_half)
{
	const struct ptx_launch *launch = walk->launch;
	struct ptx_value value = ptx_constant(0);
	uint32_t word[PTX_SET_WORDS], count = 0;
	int is_high = is_half && places->stride % 8 == 0 && places->low % 8 == 4;
	int64_t first = places->low - (is_high ? 4 : 0);
	int64_t step = places->stride % 8 == 0 && first % 8 == 0 ? places->stride : 8;
	int knows = 0;

	/* Where the launch passes pointers, nothing lies at what else it passes. */
	for (int64_t at = (first + 7) / 8 * 8; at <= places->high; at += step)
		knows |= is_pointer(launch, at);
	for (int64_t at = (first + 7) / 8 * 8; at <= places->high; at += step) {
		if (knows && !is_pointer(launch, at))
			continue;
		if (count == PTX_SET_WORDS) {
			value.base = BASE_UNKNOWN;
			return value;
		}
		word[count++] = (uint32_t)at;
	}
	if (count)
		ptx_make_set(walk, &value, word, count);
	else
		value.base = BASE_UNKNOWN;
	if (!is_half)
		return value;
	if (step == 8 && (places->stride % 8 || places->low % 4)) {
		value = ptx_interval(INT32_MIN, UINT32_MAX);
		value.loaded = 1;
		return value;
	}
	return ptx_take_half(state, &value, is_high ? HALF_HIGH : HALF_LOW);
}

/* The numbers of a table that the launch knows; low > high: not all of them. */
static struct ptx_range known_numbers(const struct ptx_walk *walk, const struct places *places,
	struct ptx_type type)
{
	const struct ptx_launch *launch = walk->launch;
	struct ptx_range found = { 1, 0 };

	for (int64_t at = places->low; at <= places->high; at += places->stride) {
		uint64_t bits = 0;
		int64_t number;

		for (unsigned i = 0; i < type.bytes; i++)
			if (at + i >= launch->size || launch->state[at + i] != PTX_KNOWN)
				return (struct ptx_range){ 1, 0 };
		memcpy(&bits, launch->value + at, type.bytes);
		number = (int64_t)(bits << (64 - type.bytes * 8)) >> (64 - type.bytes * 8);
		if (type.class == CLASS_UNSIGNED && type.bytes < 8)
			number = (int64_t)bits;
		found = ptx_hull(found, (struct ptx_range){ number, number });
	}
	return found;
}

/* One of several words, or a scalar out of an array. */
static struct ptx_value some_parameter(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *address, uint32_t instruction, const struct ptx_instruction *in)
{
	struct ptx_walk *walk = frame->walk;
	struct places places = places_of(walk, address, state, in->type.bytes);
	struct ptx_range range = { 1, 0 };

	if (places.low <= places.high && in->type.bytes && in->type.bytes <= 8)
		range = known_numbers(walk, &places, in->type);
	if (walk->collects && places.low <= places.high &&
		places.high + in->type.bytes <= walk->access->scalar_count)
		memset(walk->access->scalar + places.low, 1,
			(size_t)(places.high - places.low) + in->type.bytes);
	if (range.low <= range.high)
		return ptx_opaque(frame, state, instruction, WHICH_SPARSE, range, 1);
	if (in->type.bytes == 8 || in->modifiers & MODIFIER_HALF)
		return some_words(walk, state, &places, in->type.bytes == 4);
	range = any;
	if (in->type.bytes < 4 && in->type.class == CLASS_UNSIGNED)
		range = (struct ptx_range){ 0, (INT64_C(1) << in->type.bytes * 8) - 1 };
	return ptx_opaque(frame, state, instruction, WHICH_RESULT, range, 1);
}

static struct ptx_value load_element(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_value *from)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];
	struct ptx_range where = ptx_bounds(from, state);

	if (from->base == BASE_LOCAL)
		return load_local(frame->walk, from, state, in->type.bytes);
	if (where.low == where.high && in->modifiers & MODIFIER_HALF)
		return half_of_parameter(frame->walk, state, where.low, in->type);
	if (where.low == where.high)
		return parameter(frame->walk, state, where.low, in->type);
	return some_parameter(frame, state, from, instruction, in);
}

int ptx_read_memory(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];
	const struct ptx_operand *operand = &frame->function->operand[in->operand];
	const struct ptx_operand *address = first_address(in, operand);
	struct ptx_value from;
	uint32_t count;

	if (!in->count)
		return 0;
	count = operand->kind == OPERAND_VECTOR ? operand->number : 1;
	if (in->opcode != OP_LD || !address) {
		ptx_forget_written(frame, state, instruction);
		return 0;
	}
	from = address_at(frame, state, address);
	if (from.base != BASE_PARAMETER &&
		(from.base != BASE_LOCAL || in->type.bytes != local_bytes(in))) {
		ptx_forget_written(frame, state, instruction);
		return 0;
	}
	for (uint32_t i = 0; i < count && i < 8; i++) {
		const struct ptx_operand *to =
			operand->kind == OPERAND_VECTOR ? &operand[1 + i] : operand;
		struct ptx_value value;

		if (to->kind == OPERAND_REGISTER && frame->function->reg[to->number].relevant) {
			value = load_element(frame, state, instruction, &from);
			ptx_write_register(frame, state, to->number, &value);
		}
		from.low = ptx_add_bound(from.low, in->type.bytes);
		from.high = ptx_add_bound(from.high, in->type.bytes);
	}
	return 0;
}
