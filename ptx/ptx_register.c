/* SPDX-License-Identifier: Apache-2.0 */
/* Finds registers with one value per function, and the values that addresses are computed from. */
#include "ptx_internal.h"

#include <stdlib.h>

/* A write or read of a register, in a list per register. */
struct place {
	uint32_t instruction, next;
};

struct registers {
	struct ptx_function *function;
	struct place *place;
	uint32_t place_count, place_room;
	uint32_t *writes; /* by register: 1 + its first place */
	uint32_t *work, work_count;
	uint32_t *block; /* by instruction */
	uint8_t *queued;
	int failed;
};

uint32_t ptx_written(const struct ptx_function *function, const struct ptx_instruction *in)
{
	const struct ptx_operand *operand = &function->operand[in->operand];

	switch (in->opcode) {
	case OP_ST:
	case OP_RED:
	case OP_BRA:
	case OP_BRX:
	case OP_RET:
	case OP_EXIT:
	case OP_PREFETCH:
	case OP_CP:
	case OP_DISCARD:
	case OP_SUST:
	case OP_SURED:
	case OP_TRAP:
		return 0;
	case OP_CALL:
		/* call (result), f, (arguments): results are in registers for arguments. */
		return in->count && operand->kind == OPERAND_VECTOR ? ptx_operand_end(operand, 0)
								    : 0;
	default:
		break;
	}
	if (!in->count || operand->kind == OPERAND_ADDRESS)
		return 0;
	return ptx_operand_end(operand, 0);
}

typedef void visitor(struct registers *all, uint32_t instruction, uint32_t reg);

static void visit_argument_registers(struct registers *all, uint32_t instruction, uint32_t variable,
	visitor *visit)
{
	const struct ptx_function *function = all->function;

	for (uint32_t i = 0; i < function->argument_count; i++)
		if (function->argument[i].variable == variable)
			visit(all, instruction, function->argument[i].reg);
}

static void visit_operands(struct registers *all, uint32_t instruction, uint32_t first,
	uint32_t end, visitor *visit)
{
	const struct ptx_function *function = all->function;
	const struct ptx_instruction *in = &function->instruction[instruction];

	for (uint32_t i = first; i < end; i++) {
		const struct ptx_operand *operand = &function->operand[in->operand + i];

		if (operand->kind == OPERAND_REGISTER)
			visit(all, instruction, operand->number);
		else if (in->opcode == OP_CALL && operand->kind == OPERAND_VARIABLE &&
			operand->number & PTX_OWN)
			visit_argument_registers(all, instruction, operand->number & ~PTX_OWN,
				visit);
	}
}

static void visit_written(struct registers *all, uint32_t instruction, visitor *visit)
{
	const struct ptx_instruction *in = &all->function->instruction[instruction];

	visit_operands(all, instruction, 0, ptx_written(all->function, in), visit);
}

static void visit_read(struct registers *all, uint32_t instruction, visitor *visit)
{
	const struct ptx_function *function = all->function;
	const struct ptx_instruction *in = &function->instruction[instruction];

	visit_operands(all, instruction, ptx_written(function, in), in->count, visit);
	if (in->guard >= 0)
		visit(all, instruction, (uint32_t)in->guard);
	for (uint32_t i = 0; in->opcode == OP_RET && i < function->result_count; i++)
		visit_argument_registers(all, instruction, function->result[i], visit);
}

static void add_place(struct registers *all, uint32_t instruction, uint32_t reg)
{
	if (PTX_ROOM(all->place, all->place_room, all->place_count)) {
		all->failed = 1;
		return;
	}
	all->place[all->place_count] = (struct place){ instruction, all->writes[reg] };
	all->writes[reg] = ++all->place_count;
}

static int is_formal(const struct ptx_function *function, uint32_t reg)
{
	for (uint32_t i = 0; i < function->argument_count; i++)
		if (function->argument[i].reg == reg)
			return function->variable[function->argument[i].variable].kind ==
				VARIABLE_FORMAL;
	return 0;
}

static void give_slot(struct ptx_function *function, uint32_t reg)
{
	if (function->reg[reg].slot != PTX_NO_SLOT)
		return;
	function->slot_reg[function->slot_count] = reg;
	function->reg[reg].slot = function->slot_count++;
}

/* A read that its only write does not dominate. */
static void check_read(struct registers *all, uint32_t instruction, uint32_t reg)
{
	struct ptx_function *function = all->function;
	uint32_t place = all->writes[reg], from, at = all->block[instruction];

	if (!place || function->block[at].order == UINT32_MAX)
		return;
	from = all->place[place - 1].instruction;
	if (all->block[from] == at ? from >= instruction
				   : !ptx_dominates(function, all->block[from], at))
		give_slot(function, reg);
}

static void find_slots(struct registers *all)
{
	struct ptx_function *function = all->function;

	for (uint32_t i = 0; i < function->registers.count; i++) {
		function->reg[i].slot = PTX_NO_SLOT;
		if (all->writes[i] && all->place[all->writes[i] - 1].next)
			give_slot(function, i);
	}
	/* The caller's value must survive the first write here. */
	for (uint32_t i = 0; i < function->argument_count; i++)
		if (is_formal(function, function->argument[i].reg))
			give_slot(function, function->argument[i].reg);
	for (uint32_t i = 0; i < function->instruction_count; i++)
		visit_read(all, i, check_read);
}

static void want(struct registers *all, uint32_t reg, int relevance)
{
	struct ptx_register *registers = all->function->reg;

	if (registers[reg].relevant >= relevance)
		return;
	registers[reg].relevant = (uint8_t)relevance;
	if (!all->queued[reg]) {
		all->queued[reg] = 1;
		all->work[all->work_count++] = reg;
	}
}

static void want_for_address(struct registers *all, uint32_t instruction, uint32_t reg)
{
	want(all, reg, RELEVANT_ADDRESS);
}

static void want_for_branch(struct registers *all, uint32_t instruction, uint32_t reg)
{
	want(all, reg, RELEVANT_BRANCH);
}

/* Marks registers that a memory instruction, a call or a return uses. */
static void want_roots(struct registers *all, uint32_t instruction)
{
	struct ptx_function *function = all->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];

	if (in->guard >= 0)
		want(all, (uint32_t)in->guard, RELEVANT_BRANCH);
	if (in->opcode == OP_CALL || in->opcode == OP_RET)
		visit_read(all, instruction, want_for_address);
	if (in->opcode == OP_CALL)
		visit_written(all, instruction, want_for_address);
	for (uint32_t i = 0; i + 1 < in->count; i++)
		if (operand[i].kind == OPERAND_ADDRESS && operand[i + 1].kind == OPERAND_REGISTER &&
			(in->space != SPACE_SHARED || in->opcode == OP_CP))
			want(all, operand[i + 1].number, RELEVANT_ADDRESS);
	/* The number of bytes copied. */
	if (in->opcode == OP_CP && in->count > 4)
		visit_operands(all, instruction, 4, 5, want_for_branch);
	/* Local memory may hold a pointer. */
	if (in->opcode == OP_ST && (in->type.bytes == 8 || in->modifiers & MODIFIER_HALF) &&
		in->type.class != CLASS_FLOAT &&
		(in->space == SPACE_LOCAL || in->space == SPACE_GENERIC))
		visit_operands(all, instruction, 2, in->count, want_for_address);
}

/* Marks the registers that marked registers are computed from. */
static void follow(struct registers *all)
{
	struct ptx_function *function = all->function;

	while (all->work_count) {
		uint32_t reg = all->work[--all->work_count];
		int relevance = function->reg[reg].relevant;

		all->queued[reg] = 0;
		for (uint32_t at = all->writes[reg]; at; at = all->place[at - 1].next) {
			const struct ptx_instruction *in =
				&function->instruction[all->place[at - 1].instruction];
			int is_loaded = in->opcode == OP_LD || in->opcode == OP_ATOM;

			/*
			 * The address of a load is marked by the load itself; the loaded value is
			 * unknown.
			 */
			if (!is_loaded && in->type.class != CLASS_FLOAT)
				visit_read(all, all->place[at - 1].instruction,
					relevance == RELEVANT_ADDRESS ? want_for_address
								      : want_for_branch);
		}
	}
}

/* Marks registers that are compared with marked ones, since comparisons bound them. */
static void want_compared(struct registers *all)
{
	struct ptx_function *function = all->function;

	for (uint32_t i = 0; i < function->instruction_count; i++) {
		const struct ptx_instruction *in = &function->instruction[i];

		if (in->opcode == OP_SETP && in->type.class != CLASS_FLOAT)
			visit_read(all, i, want_for_branch);
	}
}

static int collect(struct registers *all)
{
	struct ptx_function *function = all->function;

	for (uint32_t i = 0; i < function->block_count; i++)
		for (uint32_t j = function->block[i].first; j < function->block[i].end; j++)
			all->block[j] = i;
	for (uint32_t i = 0; i < function->instruction_count; i++)
		visit_written(all, i, add_place);
	if (all->failed)
		return -1;
	find_slots(all);
	for (uint32_t i = 0; i < function->instruction_count; i++)
		want_roots(all, i);
	want_compared(all);
	follow(all);
	/* Registers that affect no branch and no address need no slot. */
	uint32_t kept = 0;

	for (uint32_t i = 0; i < function->slot_count; i++) {
		uint32_t reg = function->slot_reg[i];

		if (function->reg[reg].relevant) {
			function->slot_reg[kept] = reg;
			function->reg[reg].slot = kept++;
		} else {
			function->reg[reg].slot = PTX_NO_SLOT;
		}
	}
	function->slot_count = kept;
	return 0;
}

/* The instruction only computes values that affect neither a branch nor an address. */
static int is_idle(const struct ptx_function *function, const struct ptx_instruction *in)
{
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t end = ptx_written(function, in);

	switch (in->opcode) {
	case OP_BRA:
	case OP_BRX:
	case OP_CALL:
	case OP_RET:
	case OP_EXIT:
	case OP_TRAP:
	case OP_GRIDDEPCONTROL:
		return 0;
	case OP_PREFETCH:
	case OP_OTHER:
		break;
	default:
		if (ptx_touches(in))
			return 0;
	}
	for (uint32_t i = 0; i < in->count; i++)
		if (operand[i].kind == OPERAND_ADDRESS ||
			(i < end && operand[i].kind == OPERAND_REGISTER &&
				function->reg[operand[i].number].relevant))
			return 0;
	return 1;
}

void ptx_drop_idle(struct ptx_function *function)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < function->block_count; i++) {
		struct ptx_block *block = &function->block[i];
		uint32_t first = kept;

		/* The last instruction tells how the block is left. */
		for (uint32_t j = block->first; j < block->end; j++)
			if (j + 1 == block->end || !is_idle(function, &function->instruction[j]))
				function->instruction[kept++] = function->instruction[j];
		block->first = first;
		block->end = kept;
	}
	function->instruction_count = kept;
}

int ptx_make_registers(struct ptx_function *function)
{
	uint32_t count = function->registers.count;
	struct registers all = {
		.function = function,
		.writes = calloc(count + 1, sizeof(uint32_t)),
		.work = malloc((count + 1) * sizeof(uint32_t)),
		.block = malloc(function->instruction_count * sizeof(uint32_t)),
		.queued = calloc(count + 1, 1),
	};
	int rc = -1;

	function->reg = calloc(count + 1, sizeof(*function->reg));
	function->slot_reg = malloc((count + 1) * sizeof(*function->slot_reg));
	if (function->reg && function->slot_reg && all.writes && all.work && all.block &&
		all.queued)
		rc = collect(&all);
	free(all.place);
	free(all.writes);
	free(all.work);
	free(all.block);
	free(all.queued);
	return rc ? ptx_refuse(function, "out of memory") : 0;
}
