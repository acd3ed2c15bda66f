/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that read and write memory. */
#include "ptx_walk.h"

/*
 * Limit of changes of a cell's value before it becomes unknown, and of cells: code with more is
 * refused, its kernels are not known.
 */
#define CELL_CHANGES 6
#define CELL_LIMIT 1024

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
	if (!ptx_same_terms(joined.term, joined.count, value->term, value->count)) {
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
 * This and load_local() handle values of 8 bytes, or, for machine code, of 4.  A kernel has only
 * one of these: wider accesses of machine code are several of 4.
 */
static int store_local(struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state, const struct ptx_value *value)
{
	struct ptx_range where = ptx_bounds(address, state);
	int64_t offset = where.low == where.high ? where.low : INT64_MIN;
	/* Cells belong to all times: only symbols with the same value everywhere remain. */
	struct ptx_value kept = *value;
	struct ptx_range range = ptx_bounds(value, state);

	for (unsigned i = 0; i < value->count; i++)
		if (value->term[i].symbol >= PTX_FIXED_SYMBOLS) {
			kept.count = 0;
			kept.low = range.low;
			kept.high = range.high;
		}

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
			/* A part of the value. */
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
		/* For local and shared windows the low half is the address. */
		int is_window = value.base == BASE_LOCAL || value.base == BASE_HARMLESS;

		value = is_window && value.half == HALF_LOW ? ptx_whole(&value) : no_address();
	}
	value.low = ptx_add_bound(value.low, operand->value);
	value.high = ptx_add_bound(value.high, operand->value);
	return value;
}

/* bytes 0: an unknown number. */
static int touch_global(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_operand *operand, int space, uint32_t bytes, int direction)
{
	struct ptx_value value = address_at(frame, state, operand);

	if (space == SPACE_CONST)
		ptx_reach(frame->walk, PTX_REACH_CONSTANT, PTX_LOAD,
			"it reads constant memory of its module");
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

/*
 * A tensor map has 128 bytes; the first eight are the tensor's address.  Most maps are parameters;
 * otherwise the address is loaded from memory.
 */
static int touch_tensor(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_operand *operand, int direction)
{
	struct ptx_walk *walk = frame->walk;
	struct ptx_value map = address_at(frame, state, operand);

	if (map.base == BASE_PARAMETER) {
		map = ptx_map_parameter(walk, state, &map);
		return ptx_claim_tensor(frame, &map, direction);
	}
	ptx_reach(walk, PTX_REACH_POINTER, direction, "it uses tensor maps that are no parameters");
	if (map.base == BASE_WORD || map.base == BASE_WORDS)
		return ptx_claim(frame, &map, state, PTX_TENSOR_MAP_BYTES, PTX_LOAD);
	return 0;
}

/* [to], [from], bytes */
static uint32_t copied_bytes(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_instruction *in, const struct ptx_operand *operand)
{
	struct ptx_value bytes;

	if (in->count < 5)
		return 0;
	bytes = ptx_operand(frame, state, &operand[4]);
	return ptx_is_constant(&bytes) && bytes.low > 0 && bytes.low <= INT32_MAX
		? (uint32_t)bytes.low
		: 0;
}

/* cp.async.ca.shared.global [to], [from], 16; cp.async.bulk.global.shared [to], [from], r */
static int copy(struct ptx_frame *frame, struct ptx_state *state, const struct ptx_instruction *in,
	const struct ptx_operand *operand)
{
	int direction = in->modifiers & MODIFIER_REDUCE ? PTX_ATOMIC : PTX_STORE;
	uint32_t bytes;

	if (in->count < 4 || operand->kind != OPERAND_ADDRESS ||
		operand[2].kind != OPERAND_ADDRESS) {
		if (in->count && !(in->modifiers & (MODIFIER_WAIT | MODIFIER_PREFETCH)))
			ptx_doubt(frame->walk, "a copy that is not understood");
		return 0;
	}
	if (in->modifiers & MODIFIER_TENSOR && in->space == SPACE_GLOBAL)
		return touch_tensor(frame, state, operand, direction);
	if (in->modifiers & MODIFIER_TENSOR)
		return touch_tensor(frame, state, &operand[2], PTX_LOAD);
	bytes = copied_bytes(frame, state, in, operand);
	if (touch_global(frame, state, operand, in->space, bytes, direction))
		return -1;
	return touch_global(frame, state, &operand[2], in->source_space, bytes, PTX_LOAD);
}

static const struct ptx_operand *first_address(const struct ptx_instruction *in,
	const struct ptx_operand *operand)
{
	for (uint32_t i = 0; i + 1 < in->count; i++)
		if (operand[i].kind == OPERAND_ADDRESS)
			return &operand[i];
	return NULL;
}

/* In machine code the lower half identifies the object. */
static struct ptx_value object_at(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_operand *operand)
{
	struct ptx_value value = ptx_operand(frame, state, &operand[1]);

	return value.half == HALF_LOW ? ptx_whole(&value) : address_at(frame, state, operand);
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
		object = object_at(frame, state, address);
	return ptx_claim_object(frame, &object, is_texture ? PTX_TEXTURE : PTX_SURFACE, direction);
}

/*
 * multimem.st.f32 [to], r; multimem.red.add.f32 [to], r; multimem.ld_reduce.add.f32 r, [from]:
 * access each of several memories at a multicast address (PTX ISA).
 */
static int touch_multicast(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_instruction *in, const struct ptx_operand *operand,
	const struct ptx_operand *address)
{
	uint32_t bytes = in->vector * in->type.bytes;

	if (!address || in->modifiers & MODIFIER_ASYNC) {
		ptx_doubt(frame->walk, "an instruction that is not understood");
		return 0;
	}
	if (in->modifiers & MODIFIER_LOAD)
		return touch_global(frame, state, address, in->space,
			vector_of(in, operand) * in->type.bytes, PTX_LOAD);
	return touch_global(frame, state, address, in->space, bytes,
		in->modifiers & MODIFIER_STORE ? PTX_STORE : PTX_ATOMIC);
}

int ptx_claim_access(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
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
		return touch_multicast(frame, state, in, operand, address);
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
		/* Handles unknown instructions that have an address. */
		for (uint32_t i = 0; i + 1 < in->count; i++) {
			struct ptx_value value;

			if (operand[i].kind != OPERAND_ADDRESS || in->space == SPACE_SHARED ||
				in->modifiers & MODIFIER_WAIT)
				continue;
			value = address_at(frame, state, &operand[i]);
			if (value.base != BASE_HARMLESS && value.base != BASE_LOCAL)
				ptx_doubt(frame->walk, "an instruction that is not understood");
		}
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

static struct ptx_value load_element(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_value *from)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];
	struct ptx_range where = ptx_bounds(from, state);

	if (from->base == BASE_LOCAL)
		return load_local(frame->walk, from, state, in->type.bytes);
	if (where.low == where.high && in->modifiers & MODIFIER_HALF)
		return ptx_half_parameter(frame->walk, state, where.low, in->type);
	if (where.low == where.high)
		return ptx_parameter(frame->walk, state, where.low, in->type);
	return ptx_some_parameter(frame, state, from, instruction, in);
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
		ptx_clobber_results(frame, state, instruction);
		return 0;
	}
	from = address_at(frame, state, address);
	if (in->type.bytes == 8 && operand->kind == OPERAND_REGISTER && in->space != SPACE_SHARED &&
		ptx_is_nowhere(frame->walk, &from, state)) {
		from = ptx_constant(0);
		ptx_write_register(frame, state, operand->number, &from);
		return 0;
	}
	if (from.base != BASE_PARAMETER &&
		(from.base != BASE_LOCAL || in->type.bytes != local_bytes(in))) {
		ptx_clobber_results(frame, state, instruction);
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
