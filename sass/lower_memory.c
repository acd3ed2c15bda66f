/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and copies. */
#include <string.h>

#include "lower_internal.h"

/* --- addresses --- */

static struct ptx_operand read_pair(struct lower *lower, unsigned kind, uint16_t number, int is_64,
	int is_signed)
{
	struct sass_operand plain = { .kind = (uint8_t)kind, .number = number, .count = 2 };
	struct ptx_operand low;

	if (number == SASS_NONE)
		return lower_number(0);
	low = lower_source(lower, &plain, 0);
	if (is_64)
		return lower_pack(lower, low, lower_source(lower, &plain, 1));
	if (low.kind == OPERAND_NUMBER)
		return low;
	low = lower_make(lower, OP_CVT, CLASS_SIGNED, 8, low, lower_sink, lower_sink);
	if (lower->last)
		lower->last->source =
			(struct ptx_type){ is_signed ? CLASS_SIGNED : CLASS_UNSIGNED, 4 };
	return low;
}

/* Returns an address of 32 bits: in local or shared memory. */
static struct ptx_operand short_address(struct lower *lower, const struct sass_address *address)
{
	struct sass_operand base = { .kind = SASS_OPERAND_GENERAL, .number = address->base };
	struct sass_operand uniform = { .kind = SASS_OPERAND_UNIFORM, .number = address->uniform };
	struct ptx_operand a = lower_source(lower, &base, 0);

	if (address->scale > 1)
		return lower_unknown;
	if (address->uniform == SASS_NONE)
		return a;
	return lower_make(lower, OP_ADD, CLASS_SIGNED, 8, a, lower_source(lower, &uniform, 0),
		lower_sink);
}

static struct ptx_operand address_of(struct lower *lower, const struct sass_address *address)
{
	struct ptx_operand base = read_pair(lower, SASS_OPERAND_GENERAL, address->base,
		address->base_is_64, address->base_is_signed);
	struct ptx_operand uniform =
		read_pair(lower, SASS_OPERAND_UNIFORM, address->uniform, address->uniform_is_64, 0);

	if (address->scale > 1)
		base = lower_make(lower, OP_MUL, CLASS_SIGNED, 8, base,
			lower_number(address->scale), lower_sink);
	if (address->uniform == SASS_NONE)
		return base;
	return lower_make(lower, OP_ADD, CLASS_SIGNED, 8, uniform, base, lower_sink);
}

static enum ptx_space space_of(const struct sass_instruction *in)
{
	switch (in->space) {
	case SASS_SPACE_GLOBAL:
		return SPACE_GLOBAL;
	case SASS_SPACE_SHARED:
		return SPACE_SHARED;
	case SASS_SPACE_LOCAL:
		return SPACE_LOCAL;
	default:
		return SPACE_GENERIC;
	}
}

/* Begins an access under the instruction's guard. */
static struct ptx_instruction *begin_access(struct lower *lower, enum ptx_opcode opcode,
	enum ptx_class class, unsigned bytes)
{
	struct ptx_instruction *made = lower_begin(lower, opcode, class, bytes);

	made->space = (uint8_t)space_of(&lower->in);
	if (lower->in.strength == SASS_STRONG || lower->in.strength == SASS_MMIO)
		made->modifiers |= MODIFIER_STRONG;
	made->guard = lower->guard;
	made->negated = (uint8_t)(lower->guard_negated != 0);
	return made;
}

static const struct sass_operand *data_of(const struct sass_operand *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].kind == SASS_OPERAND_GENERAL || list[i].kind == SASS_OPERAND_UNIFORM)
			return &list[i];
	return NULL;
}

/* The contents of shared memory are unknown; eight bytes may be a pointer. */
static void load_shared(struct lower *lower, const struct sass_operand *to, unsigned pairs)
{
	for (unsigned i = 0; i < pairs && i < 4; i++) {
		struct ptx_operand whole = lower_reg(lower_temp(lower)), low;

		lower_begin(lower, OP_OTHER, CLASS_BITS, 8);
		lower_add(lower, whole);
		low = lower_target(lower, to, 2 * i);
		lower_unpack(lower, low, lower_target(lower, to, 2 * i + 1), whole);
	}
}

static void load(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	const struct sass_operand *to = data_of(in->to, in->to_count);
	unsigned bytes = in->bytes ? in->bytes : 4;
	struct ptx_operand from;

	if (in->space == SASS_SPACE_SHARED) {
		if (to)
			load_shared(lower, to, bytes / 8);
		return;
	}
	from = in->space == SASS_SPACE_LOCAL ? short_address(lower, &in->address)
					     : address_of(lower, &in->address);
	if (bytes >= 4 && to && in->space != SASS_SPACE_GLOBAL) {
		/* Loads words of (possibly) local memory, four bytes each. */
		unsigned words = bytes / 4;
		for (unsigned word = 0; word < words; word++) {
			struct ptx_operand target = lower_target(lower, to, word);

			begin_access(lower, OP_LD, CLASS_BITS, 4)->modifiers |= MODIFIER_HALF;
			lower_add(lower, target);
			lower_add_address(lower, from,
				lower->in.address.offset + 4 * (int64_t)word);
		}
		return;
	}
	if (bytes >= 8 && to) {
		/* Loads pairs of words: eight bytes may be a pointer. */
		unsigned pairs = bytes / 8;
		struct ptx_operand whole[4] = { lower_sink };

		for (unsigned i = 0; i < pairs && i < 4; i++) {
			whole[i] = lower_reg(lower_temp(lower));
			begin_access(lower, OP_LD, CLASS_BITS, 8);
			lower_add(lower, whole[i]);
			lower_add_address(lower, from, lower->in.address.offset + 8 * (int64_t)i);
		}
		for (unsigned i = 0; i < pairs && i < 4; i++) {
			struct ptx_operand low = lower_target(lower, to, 2 * i);

			lower_unpack(lower, low, lower_target(lower, to, 2 * i + 1), whole[i]);
		}
		return;
	}
	begin_access(lower, OP_LD, in->is_signed ? CLASS_SIGNED : CLASS_UNSIGNED, bytes);
	lower_add(lower, to ? lower_target(lower, to, 0) : lower_sink);
	lower_add_address(lower, from, in->address.offset);
}

static void store(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	const struct sass_operand *from = data_of(in->from, in->from_count);
	unsigned bytes = in->bytes ? in->bytes : 4;
	struct ptx_operand to;

	if (in->space == SASS_SPACE_SHARED)
		return;
	to = in->space == SASS_SPACE_LOCAL ? short_address(lower, &in->address)
					   : address_of(lower, &in->address);
	if (in->space == SASS_SPACE_GLOBAL || bytes < 4 || !from) {
		begin_access(lower, OP_ST, CLASS_BITS, bytes);
		lower_add_address(lower, to, in->address.offset);
		return;
	}
	for (unsigned word = 0; word < bytes / 4; word++) {
		struct ptx_operand value = lower_source(lower, from, word);

		begin_access(lower, OP_ST, CLASS_BITS, 4)->modifiers |= MODIFIER_HALF;
		lower_add_address(lower, to, in->address.offset + 4 * (int64_t)word);
		lower_add(lower, value);
	}
}

/* Sets p if the address is in that space. */
static void put_space(struct lower *lower, const struct sass_operand *to,
	struct ptx_operand address, enum ptx_space space)
{
	struct ptx_operand predicate = lower_target(lower, to, 0);

	if (predicate.kind == OPERAND_SINK)
		return;
	lower_begin(lower, OP_ISSPACEP, CLASS_PREDICATE, 1)->space = (uint8_t)space;
	lower_add(lower, predicate);
	lower_add(lower, address);
}

static enum ptx_update update_of(const struct sass_instruction *in)
{
	switch (in->operation) {
	case SASS_OPERATION_MIN:
	case SASS_OPERATION_MAX:
	case SASS_OPERATION_BITS_AND:
	case SASS_OPERATION_BITS_OR:
	case SASS_OPERATION_EXCH:
	case SASS_OPERATION_CAS:
		return PTX_REPEATS;
	default:
		return PTX_CHANGES;
	}
}

/*
 * ATOM p, d, [address]: with some generic addresses it works in global memory only, and p tells
 * whether it did.  Compilers add a loop for shared memory, and a load and a store for local memory.
 */
static void update(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	const struct sass_operand *to = data_of(in->to, in->to_count);
	unsigned bytes = in->bytes ? in->bytes : 4;
	struct ptx_operand where, old = lower_sink, data[4];
	unsigned count = 0;

	if (in->space == SASS_SPACE_SHARED)
		return;
	where = address_of(lower, &in->address);
	if (in->to_count && in->to[0].kind == SASS_OPERAND_PREDICATE)
		put_space(lower, &in->to[0], where, SPACE_GLOBAL);
	for (unsigned i = 0; i < in->from_count; i++)
		for (unsigned word = 0; word < (bytes >= 8 ? 2 : 1) && count < 4; word++)
			if (in->from[i].kind == SASS_OPERAND_GENERAL)
				data[count++] = lower_source(lower, &in->from[i], word);
	if (in->opcode == SASS_ATOM && bytes >= 8 && to)
		old = lower_reg(lower_temp(lower));
	else if (in->opcode == SASS_ATOM && to)
		old = lower_target(lower, to, 0);
	begin_access(lower, in->opcode == SASS_RED ? OP_RED : OP_ATOM, CLASS_BITS, bytes)->update =
		update_of(in);
	if (in->opcode == SASS_ATOM)
		lower_add(lower, old);
	lower_add_address(lower, where, in->address.offset);
	for (unsigned i = 0; i < count; i++)
		lower_add(lower, data[i]);
	if (in->opcode == SASS_ATOM && bytes == 8 && to) {
		struct ptx_operand low = lower_target(lower, to, 0);

		lower_unpack(lower, low, lower_target(lower, to, 1), old);
	}
}

/* LDGSTS: copies from global to shared memory; without its predicate nothing is read. */
static void copy(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	/* The address in global memory has two registers. */
	struct ptx_operand from = address_of(lower, &in->address);
	struct ptx_operand condition = in->from_count
		? lower_predicate(lower, &in->from[in->from_count - 1])
		: lower_number(1);
	struct ptx_instruction *made;

	if (lower->guard >= 0 && condition.kind == OPERAND_REGISTER) {
		struct ptx_operand guard = lower_reg((uint32_t)lower->guard);

		if (lower->guard_negated)
			guard = lower_not(lower, guard);
		condition = lower_and(lower, OP_AND, guard, condition);
	}
	if (condition.kind == OPERAND_NUMBER && !condition.value)
		return;
	made = begin_access(lower, OP_LD, CLASS_BITS, in->bytes);
	made->space = SPACE_GLOBAL;
	if (condition.kind == OPERAND_REGISTER) {
		made->guard = (int32_t)condition.number;
		made->negated = 0;
	}
	lower_add(lower, lower_sink);
	lower_add_address(lower, from, in->address.offset);
}

/*
 * Returns the lower half of a texture or surface handle: an operand before the coordinates, or the
 * first register after them.
 */
static struct ptx_operand handle_of(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	const struct sass_operand *from = &in->from[0];

	if (in->from_count && from->kind == SASS_OPERAND_GENERAL)
		from = in->from_count > 1 ? &in->from[1] : NULL;
	return from && in->from_count ? lower_source(lower, from, 0) : lower_unknown;
}

static void texture(struct lower *lower, enum ptx_opcode opcode)
{
	struct ptx_operand handle = handle_of(lower);
	struct ptx_instruction *made = lower_begin(lower, opcode, CLASS_BITS, 4);

	made->guard = lower->guard;
	made->negated = (uint8_t)(lower->guard_negated != 0);
	lower_add(lower, lower_sink);
	lower_add_address(lower, handle, 0);
}

/* Returns an address of two registers; in shared memory the place does not matter. */
static struct ptx_operand bulk_address(struct lower *lower, unsigned number, int is_global)
{
	return is_global ? lower_source64(lower, &lower->in.from[number]) : lower_number(0);
}

static struct ptx_instruction *begin_bulk(struct lower *lower, int writes_global)
{
	struct ptx_instruction *made = begin_access(lower, OP_CP, CLASS_BITS, 4);

	made->modifiers = MODIFIER_ASYNC | MODIFIER_BULK;
	made->space = writes_global ? SPACE_GLOBAL : SPACE_SHARED;
	made->source_space = writes_global ? SPACE_SHARED : SPACE_GLOBAL;
	return made;
}

/* The second operand is the address of the tensor map, for every operation. */
static void tensor(struct lower *lower)
{
	int writes = lower->in.opcode != SASS_UTMALDG;
	struct ptx_operand map = bulk_address(lower, 1, 1);
	struct ptx_instruction *made = begin_bulk(lower, writes);

	made->modifiers |= MODIFIER_TENSOR;
	if (lower->in.opcode == SASS_UTMAREDG)
		made->modifiers |= MODIFIER_REDUCE;
	lower_add_address(lower, writes ? map : lower_number(0), 0);
	lower_add_address(lower, writes ? lower_number(0) : map, 0);
}

/* The count is in the lower 16 bits, in units of 16 bytes. */
static struct ptx_operand bulk_bytes(struct lower *lower)
{
	struct ptx_operand count = lower_source(lower, &lower->in.from[2], 0);

	if (count.kind == OPERAND_NUMBER)
		return lower_number((count.value & 0xffff) * 16);
	count = lower_make(lower, OP_AND, CLASS_BITS, 4, count, lower_number(0xffff), lower_sink);
	return lower_make(lower, OP_SHL, CLASS_BITS, 4, count, lower_number(4), lower_sink);
}

static void bulk_copy(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	int writes = in->direction == SASS_WRITES || in->opcode == SASS_UBLKRED;
	struct ptx_operand to, from, bytes;
	struct ptx_instruction *made;

	if (in->space == SASS_SPACE_SHARED)
		return;
	if (in->from_count < 3 || (!writes && in->direction != SASS_READS)) {
		/* An access to an unknown place: the kernel is incomplete. */
		lower_begin(lower, OP_DISCARD, CLASS_BITS, 4);
		return;
	}
	to = bulk_address(lower, 0, writes);
	from = bulk_address(lower, 1, !writes);
	bytes = bulk_bytes(lower);
	made = begin_bulk(lower, writes);
	if (in->opcode == SASS_UBLKRED)
		made->modifiers |= MODIFIER_REDUCE;
	lower_add_address(lower, to, 0);
	lower_add_address(lower, from, 0);
	lower_add(lower, bytes);
}

/* QSPC.S p, [address]: whether the address is in shared memory. */
static int ask_space(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;

	if (!in->name || strcmp(in->name, "QSPC") != 0 || !in->has_address || !in->to_count)
		return 0;
	put_space(lower, &in->to[0], address_of(lower, &in->address), SPACE_SHARED);
	return 1;
}

int lower_memory(struct lower *lower)
{
	switch (lower->in.opcode) {
	case SASS_OTHER:
		return ask_space(lower);
	case SASS_LDC:
		return lower_load_constant(lower);
	case SASS_LD:
		load(lower);
		return 1;
	case SASS_ST:
		store(lower);
		return 1;
	case SASS_ATOM:
	case SASS_RED:
		update(lower);
		return 1;
	case SASS_LDGSTS:
		copy(lower);
		return 1;
	case SASS_TEX:
		texture(lower, OP_TEX);
		return 1;
	case SASS_SULD:
		texture(lower, OP_SULD);
		return 1;
	case SASS_SUST:
		texture(lower, OP_SUST);
		return 1;
	case SASS_SUATOM:
		texture(lower, OP_SURED);
		return 1;
	case SASS_UTMALDG:
	case SASS_UTMASTG:
	case SASS_UTMAREDG:
		tensor(lower);
		return 1;
	case SASS_UBLKCP:
	case SASS_UBLKRED:
		bulk_copy(lower);
		return 1;
	default:
		return 0;
	}
}
