/* SPDX-License-Identifier: Apache-2.0 */
/* Makes operands and instructions of the interpreter. */
#include "lower_internal.h"

/* Instructions of a function, which is refused beyond it. */
#define OUTPUT_LIMIT 600000

const struct ptx_operand lower_unknown = { OPERAND_UNKNOWN, 0, 0 };
const struct ptx_operand lower_sink = { OPERAND_SINK, 0, 0 };

struct ptx_operand lower_number(int64_t value)
{
	return (struct ptx_operand){ OPERAND_NUMBER, 0, value };
}

struct ptx_operand lower_reg(uint32_t reg)
{
	return (struct ptx_operand){ OPERAND_REGISTER, reg, 0 };
}

uint32_t lower_temp(struct lower *lower)
{
	lower->last_temp = lower->function->registers.count++;
	return lower->last_temp;
}

static uint32_t reg_of(struct lower *lower, uint32_t name)
{
	name = lower_find(lower, name);
	if (!lower->reg[name])
		lower->reg[name] = 1 + lower->function->registers.count++;
	return lower->reg[name] - 1;
}

struct ptx_operand lower_own(struct lower *lower, unsigned machine)
{
	return lower_reg(reg_of(lower, lower->own[machine]));
}

static struct ptx_operand read_all(struct lower *lower, unsigned machine)
{
	uint32_t name = lower_find(lower, lower->current[machine]);

	if (!(lower->uses[name] & NAME_IS_WRITTEN))
		return lower_number(0);
	return lower_reg(reg_of(lower, name));
}

/* A read under the same guard as the write gets the written value. */
struct ptx_operand lower_read(struct lower *lower, unsigned machine)
{
	const struct machine_under *under = &lower->under[machine];

	if (under->reg && under->always)
		return lower_reg(under->reg - 1);
	if (lower->guard >= 0 && under->reg && lower_is_when(&under->when, &lower->when))
		return lower_reg(under->reg - 1);
	return read_all(lower, machine);
}

struct ptx_instruction *lower_begin(struct lower *lower, enum ptx_opcode opcode,
	enum ptx_class class, unsigned bytes)
{
	struct ptx_function *function = lower->function;

	lower->last = NULL;
	if (function->instruction_count >= OUTPUT_LIMIT ||
		PTX_ROOM(function->instruction, function->instruction_room,
			function->instruction_count)) {
		lower_refuse(lower, "too large");
		return &lower->nothing;
	}
	lower->last = &function->instruction[function->instruction_count++];
	*lower->last = (struct ptx_instruction){
		.opcode = (uint8_t)opcode,
		.vector = 1,
		.type = { (uint8_t) class, (uint8_t)bytes },
		.source = { (uint8_t) class, (uint8_t)bytes },
		.guard = -1,
		.operand = function->operand_count,
	};
	return lower->last;
}

void lower_add(struct lower *lower, struct ptx_operand operand)
{
	struct ptx_function *function = lower->function;

	if (!lower->last)
		return;
	if (PTX_ROOM(function->operand, function->operand_room, function->operand_count)) {
		lower_refuse(lower, "out of memory");
		return;
	}
	function->operand[function->operand_count++] = operand;
	lower->last->count++;
}

void lower_add_vector(struct lower *lower, unsigned count)
{
	lower_add(lower, (struct ptx_operand){ OPERAND_VECTOR, count, 0 });
}

void lower_add_address(struct lower *lower, struct ptx_operand base, int64_t offset)
{
	lower_add(lower, (struct ptx_operand){ OPERAND_ADDRESS, 0, offset });
	lower_add(lower, base);
}

struct ptx_operand lower_make(struct lower *lower, enum ptx_opcode opcode, enum ptx_class class,
	unsigned bytes, struct ptx_operand a, struct ptx_operand b, struct ptx_operand c)
{
	struct ptx_operand to = lower_reg(lower_temp(lower));

	lower_begin(lower, opcode, class, bytes);
	lower_add(lower, to);
	lower_add(lower, a);
	if (b.kind != OPERAND_SINK)
		lower_add(lower, b);
	if (c.kind != OPERAND_SINK)
		lower_add(lower, c);
	return to;
}

struct ptx_operand lower_pack(struct lower *lower, struct ptx_operand low, struct ptx_operand high)
{
	struct ptx_operand to = lower_reg(lower_temp(lower));

	lower_begin(lower, OP_MOV, CLASS_BITS, 8);
	lower_add(lower, to);
	lower_add_vector(lower, 2);
	lower_add(lower, low);
	lower_add(lower, high);
	return to;
}

void lower_unpack(struct lower *lower, struct ptx_operand low, struct ptx_operand high,
	struct ptx_operand whole)
{
	lower_begin(lower, OP_MOV, CLASS_BITS, 8);
	lower_add_vector(lower, 2);
	lower_add(lower, low);
	lower_add(lower, high);
	lower_add(lower, whole);
}

static struct ptx_operand plain_source(struct lower *lower, const struct sass_operand *from,
	unsigned word)
{
	switch (from->kind) {
	case SASS_OPERAND_GENERAL:
		if (from->number == SASS_NONE || from->number + word >= 255)
			return lower_number(0);
		return lower_read(lower, MACHINE_GENERAL + from->number + word);
	case SASS_OPERAND_UNIFORM:
		if (from->number == SASS_NONE || from->number + word >= 255)
			return lower_number(0);
		return lower_read(lower, MACHINE_UNIFORM + from->number + word);
	case SASS_OPERAND_IMMEDIATE:
		/* A single word of 32 bits is sign-extended to 64. */
		return lower_number(word ? from->value >> 32 : (int32_t)(uint32_t)from->value);
	case SASS_OPERAND_CONSTANT:
		return lower_constant(lower, from, word);
	default:
		return lower_unknown;
	}
}

struct ptx_operand lower_source(struct lower *lower, const struct sass_operand *from, unsigned word)
{
	struct ptx_operand value = plain_source(lower, from, word);

	if (from->absolute)
		value = lower_make(lower, OP_ABS, CLASS_UNSIGNED, 4, value, lower_sink, lower_sink);
	if (from->negated && value.kind == OPERAND_NUMBER)
		value.value = -value.value;
	else if (from->negated)
		value = lower_make(lower, OP_NEG, CLASS_BITS, 4, value, lower_sink, lower_sink);
	if (from->inverted && value.kind == OPERAND_NUMBER)
		value.value = ~value.value;
	else if (from->inverted)
		value = lower_make(lower, OP_NOT, CLASS_BITS, 4, value, lower_sink, lower_sink);
	return value;
}

struct ptx_operand lower_source64(struct lower *lower, const struct sass_operand *from)
{
	struct sass_operand plain = *from;
	struct ptx_operand value;

	if (from->kind == SASS_OPERAND_IMMEDIATE)
		return lower_number(from->negated ? -from->value
				: from->inverted  ? ~from->value
						  : from->value);
	if ((from->kind == SASS_OPERAND_GENERAL || from->kind == SASS_OPERAND_UNIFORM) &&
		from->number == SASS_NONE)
		return lower_number(from->inverted ? -1 : 0);
	plain.negated = plain.inverted = plain.absolute = 0;
	value = plain_source(lower, &plain, 0);
	value = lower_pack(lower, value, plain_source(lower, &plain, 1));
	if (from->negated)
		value = lower_make(lower, OP_NEG, CLASS_BITS, 8, value, lower_sink, lower_sink);
	if (from->inverted)
		value = lower_make(lower, OP_NOT, CLASS_BITS, 8, value, lower_sink, lower_sink);
	return value;
}

struct ptx_operand lower_not(struct lower *lower, struct ptx_operand predicate)
{
	if (predicate.kind == OPERAND_NUMBER)
		return lower_number(!predicate.value);
	return lower_make(lower, OP_NOT, CLASS_PREDICATE, 1, predicate, lower_sink, lower_sink);
}

struct ptx_operand lower_predicate(struct lower *lower, const struct sass_operand *from)
{
	unsigned base = from->kind == SASS_OPERAND_PREDICATE ? MACHINE_PREDICATE
							     : MACHINE_UNIFORM_PREDICATE;
	struct ptx_operand value = lower_number(1);

	if (from->kind != SASS_OPERAND_PREDICATE && from->kind != SASS_OPERAND_UNIFORM_PREDICATE)
		return lower_number(1);
	if (from->number < 7)
		value = lower_read(lower, base + from->number);
	return from->negated ? lower_not(lower, value) : value;
}

/* Makes an AND, OR or XOR of predicates. */
struct ptx_operand lower_and(struct lower *lower, enum ptx_opcode opcode, struct ptx_operand a,
	struct ptx_operand b)
{
	if (a.kind == OPERAND_NUMBER) {
		struct ptx_operand swap = a;

		a = b;
		b = swap;
	}
	if (b.kind == OPERAND_NUMBER && opcode == OP_XOR)
		return b.value ? lower_not(lower, a) : a;
	if (b.kind == OPERAND_NUMBER)
		return (b.value != 0) == (opcode == OP_AND) ? a : lower_number(opcode != OP_AND);
	return lower_make(lower, opcode, CLASS_PREDICATE, 1, a, b, lower_sink);
}

static int is_predicate(unsigned machine)
{
	return machine >= MACHINE_PREDICATE;
}

/* A predicate that is written once has a known condition; so has this one in its block. */
static int is_local(struct lower *lower, unsigned machine)
{
	return is_predicate(machine) &&
		lower->uses[lower_find(lower, lower->own[machine])] & NAME_IS_WRITTEN_TWICE;
}

/* Under a guard, results go to a temporary register first. */
static struct ptx_operand target_of(struct lower *lower, unsigned machine)
{
	struct machine_write *write;

	if (lower->write_of[machine])
		return lower_reg(lower->write[lower->write_of[machine] - 1].reg);
	if (lower->write_count == MACHINE_WRITES) {
		lower_refuse(lower, "machine code that is not understood");
		return lower_sink;
	}
	write = &lower->write[lower->write_count++];
	lower->write_of[machine] = (uint8_t)lower->write_count;
	write->machine = machine;
	write->reg = lower->guard >= 0 || is_local(lower, machine)
		? lower_temp(lower)
		: reg_of(lower, lower->own[machine]);
	return lower_reg(write->reg);
}

struct ptx_operand lower_target(struct lower *lower, const struct sass_operand *to, unsigned word)
{
	unsigned number = to->number + word;

	if (to->number == SASS_NONE)
		return lower_sink;
	switch (to->kind) {
	case SASS_OPERAND_GENERAL:
		return number < 255 ? target_of(lower, MACHINE_GENERAL + number) : lower_sink;
	case SASS_OPERAND_UNIFORM:
		return number < 255 ? target_of(lower, MACHINE_UNIFORM + number) : lower_sink;
	case SASS_OPERAND_PREDICATE:
		return number < 7 ? target_of(lower, MACHINE_PREDICATE + number) : lower_sink;
	case SASS_OPERAND_UNIFORM_PREDICATE:
		return number < 7 ? target_of(lower, MACHINE_UNIFORM_PREDICATE + number)
				  : lower_sink;
	default:
		return lower_sink;
	}
}

void lower_move(struct lower *lower, struct ptx_operand to, struct ptx_operand from)
{
	if (to.kind == OPERAND_SINK)
		return;
	lower_begin(lower, OP_MOV, CLASS_BITS, 4);
	lower_add(lower, to);
	lower_add(lower, from);
}

/* Changes the target of the last instruction. */
static int retarget(struct lower *lower, struct ptx_operand to, struct ptx_operand from)
{
	struct ptx_operand *operand;

	if (!lower->last || !lower->last->count || from.number != lower->last_temp)
		return 0;
	operand = &lower->function->operand[lower->last->operand];
	if (operand->kind != OPERAND_REGISTER || operand->number != from.number)
		return 0;
	*operand = to;
	return 1;
}

/* mov.pred of a number, not.pred twice for a register: the interpreter handles these. */
void lower_move_predicate(struct lower *lower, struct ptx_operand to, struct ptx_operand from)
{
	int is_number = from.kind == OPERAND_NUMBER;

	if (to.kind == OPERAND_SINK)
		return;
	if (!is_number && retarget(lower, to, from))
		return;
	if (!is_number)
		from = lower_not(lower, from);
	lower_begin(lower, is_number ? OP_MOV : OP_NOT, CLASS_PREDICATE, 1);
	lower_add(lower, to);
	lower_add(lower, from);
}

static void forget(struct lower *lower, struct ptx_operand to, int predicate)
{
	if (to.kind == OPERAND_SINK)
		return;
	lower_begin(lower, OP_OTHER, predicate ? CLASS_PREDICATE : CLASS_BITS, predicate ? 1 : 4);
	lower_add(lower, to);
}

static void forget_machine(void *arg, unsigned machine)
{
	struct lower *lower = arg;

	if (!lower->write_of[machine])
		forget(lower, target_of(lower, machine), is_predicate(machine));
}

void lower_forget(struct lower *lower)
{
	lower_visit_written(&lower->in, forget_machine, lower);
}

/* Selects the previous value where the guard does not hold. */
static void choose(struct lower *lower, const struct machine_write *write)
{
	struct ptx_operand old = read_all(lower, write->machine), new = lower_reg(write->reg);
	struct ptx_operand guard = lower_reg((uint32_t)lower->guard);
	struct ptx_operand to = lower_own(lower, write->machine);

	/* Returns 1 if nothing reads or writes the register unless the guard holds. */
	unsigned machine = write->machine;

	if (lower_is_when(&lower->only[lower_find(lower, lower->own[machine])], &lower->when)) {
		if (is_predicate(write->machine))
			lower_move_predicate(lower, to, new);
		else
			lower_move(lower, to, new);
		return;
	}
	if (is_predicate(write->machine)) {
		struct ptx_operand not = lower_not(lower, guard);

		if (lower->guard_negated)
			new = lower_and(lower, OP_AND, new, not );
		else
			new = lower_and(lower, OP_AND, new, guard);
		old = lower_and(lower, OP_AND, old, lower->guard_negated ? guard : not );
		lower_move_predicate(lower, to, lower_and(lower, OP_OR, new, old));
		return;
	}
	if (old.kind == OPERAND_NUMBER) {
		lower_move(lower, to, new);
		return;
	}
	lower_begin(lower, OP_SELP, CLASS_BITS, 4);
	lower_add(lower, to);
	lower_add(lower, lower->guard_negated ? old : new);
	lower_add(lower, lower->guard_negated ? new : old);
	lower_add(lower, guard);
}

static int writes(const struct ptx_function *function, const struct ptx_instruction *in,
	uint32_t reg)
{
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t first = 0, end = in->count ? 1 : 0;

	if (end && operand->kind == OPERAND_VECTOR) {
		first = 1;
		end = 1 + operand->number;
	}
	for (uint32_t i = first; i < end && i < in->count; i++)
		if (operand[i].kind == OPERAND_REGISTER && operand[i].number == reg)
			return 1;
	return 0;
}

void lower_drop_writes(struct lower *lower)
{
	while (lower->write_count)
		lower->write_of[lower->write[--lower->write_count].machine] = 0;
}

/* MOV d, a: a value written to a under a guard is then in d, too. */
static const struct machine_under *moved(const struct lower *lower)
{
	const struct ptx_function *function = lower->function;
	const struct ptx_instruction *made = &function->instruction[lower->first];
	const struct sass_operand *found = NULL;
	unsigned machine;

	if (lower->guard >= 0 || lower->write_count != 1 ||
		function->instruction_count != lower->first + 1 || made->opcode != OP_MOV ||
		made->count != 2)
		return NULL;
	for (unsigned i = 0; i < lower->in.from_count; i++) {
		const struct sass_operand *from = &lower->in.from[i];

		if ((from->kind != SASS_OPERAND_GENERAL && from->kind != SASS_OPERAND_UNIFORM) ||
			from->number == SASS_NONE)
			continue;
		if (found)
			return NULL;
		found = from;
	}
	if (!found || found->number >= 255)
		return NULL;
	machine = found->number +
		(found->kind == SASS_OPERAND_GENERAL ? MACHINE_GENERAL : MACHINE_UNIFORM);
	return lower->under[machine].reg ? &lower->under[machine] : NULL;
}

void lower_finish(struct lower *lower)
{
	const struct machine_under *source = moved(lower);

	/* A target that was requested but not written is unknown. */
	const struct ptx_function *function = lower->function;
	uint32_t end = function->instruction_count;

	for (uint32_t i = 0; i < lower->write_count; i++) {
		uint32_t at = lower->first;

		while (at < end &&
			!writes(function, &function->instruction[at], lower->write[i].reg))
			at++;
		if (at == end)
			forget(lower, lower_reg(lower->write[i].reg),
				is_predicate(lower->write[i].machine));
	}
	lower_forget(lower);
	for (uint32_t i = 0; i < lower->write_count; i++) {
		struct machine_under *under = &lower->under[lower->write[i].machine];

		int always = lower->guard < 0 && is_local(lower, lower->write[i].machine);

		if (lower->guard >= 0)
			choose(lower, &lower->write[i]);
		else if (always) {
			/* Copies the value for reads in other blocks. */
			const struct machine_write *write = &lower->write[i];
			struct ptx_operand not = lower_not(lower, lower_reg(write->reg));

			lower_begin(lower, OP_NOT, CLASS_PREDICATE, 1);
			lower_add(lower, lower_own(lower, write->machine));
			lower_add(lower, not );
		}
		*under = (struct machine_under){ lower->guard >= 0 || always
				? lower->write[i].reg + 1
				: 0,
			lower->when, always };
		if (source)
			*under = *source;
	}
	lower_drop_writes(lower);
}
