/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of functions of the module, which are interpreted at each call; and which kernels print:
 * those with calls that lead to vprintf, which nvcc generates for printf.
 */
#include "ptx_walk.h"

#include <stdlib.h>

#include "builtin.h"

/* Of calls in each other, and of paths of calls: beyond them a call may access any memory. */
#define DEPTH_LIMIT 12
#define PATH_LIMIT 4096

static uint32_t path_of(struct ptx_walk *walk, uint32_t from, uint32_t instruction)
{
	for (uint32_t i = 1; i < walk->path_count; i++)
		if (walk->path[i].from == from && walk->path[i].instruction == instruction)
			return i;
	if (walk->path_count >= PATH_LIMIT ||
		PTX_ROOM(walk->path, walk->path_room, walk->path_count))
		return 0;
	walk->path[walk->path_count] = (struct ptx_path){ from, instruction };
	return walk->path_count++;
}

/* Returns why a call of a function without a body may access any memory; NULL: it accesses none. */
static const char *why_unknown(const struct ptx_function *function)
{
	switch (function ? builtin_of(function->name, function->length) : BUILTIN_NONE) {
	case BUILTIN_PRINTF:
	case BUILTIN_ASSERT:
		return NULL;
	case BUILTIN_LAUNCH:
		return "it launches kernels or graphs from the device";
	default:
		return "it calls a function that is not known";
	}
}

struct call {
	struct ptx_function *function;               /* NULL: unknown */
	const struct ptx_operand *result, *argument; /* vectors, or NULL */
};

static uint32_t register_of(const struct ptx_function *function, uint32_t variable, int32_t offset)
{
	for (uint32_t i = 0; i < function->argument_count; i++)
		if (function->argument[i].variable == variable &&
			function->argument[i].offset == offset)
			return function->argument[i].reg;
	return UINT32_MAX;
}

/* Returns the caller's value for a parameter of the function. */
static struct ptx_value argument(struct ptx_frame *frame, const struct ptx_state *state,
	const struct call *call, uint32_t variable, int32_t offset)
{
	const struct ptx_function *function = call->function;
	struct ptx_value value = ptx_interval(INT64_MIN, INT64_MAX);
	uint32_t at = 0, reg;

	value.base = BASE_UNKNOWN;
	while (at < function->formal_count && function->formal[at] != variable)
		at++;
	if (at == function->formal_count || !call->argument || at >= call->argument->number ||
		call->argument[1 + at].kind != OPERAND_VARIABLE ||
		!(call->argument[1 + at].number & PTX_OWN))
		return value;
	reg = register_of(frame->function, call->argument[1 + at].number & ~PTX_OWN, offset);
	return reg == UINT32_MAX ? value : ptx_read_register(frame, state, reg);
}

static void give_results(struct ptx_frame *frame, struct ptx_state *state, struct ptx_frame *callee,
	const struct call *call)
{
	const struct ptx_function *function = frame->function;

	for (uint32_t i = 0; call->result && i < call->result->number; i++) {
		const struct ptx_operand *to = &call->result[1 + i];

		if (to->kind != OPERAND_VARIABLE || !(to->number & PTX_OWN))
			continue;
		for (uint32_t j = 0; j < function->argument_count; j++) {
			const struct ptx_argument *known = &function->argument[j];
			struct ptx_value value = ptx_interval(INT64_MIN, INT64_MAX);
			uint32_t reg = UINT32_MAX;

			if (known->variable != (to->number & ~PTX_OWN))
				continue;
			value.base = BASE_UNKNOWN;
			if (callee && i < callee->function->result_count)
				reg = register_of(callee->function, callee->function->result[i],
					known->offset);
			if (reg != UINT32_MAX)
				value = ptx_read_register(callee, callee->leave, reg);
			ptx_write_register(frame, state, known->reg, &value);
		}
	}
}

static void copy_knowledge(struct ptx_state *to, const struct ptx_state *from)
{
	to->fact_count = from->fact_count;
	memcpy(to->fact, from->fact, sizeof(to->fact));
	to->split_count = from->split_count;
	memcpy(to->split, from->split, sizeof(to->split));
	memcpy(to->range, from->range, sizeof(to->range));
}

static int enter(struct ptx_frame *frame, struct ptx_state *state, const struct call *call,
	struct ptx_frame *callee, int is_guarded)
{
	const struct ptx_function *function = call->function;
	struct ptx_state *start = calloc(1, ptx_state_size(function));
	int rc;

	if (!start)
		return ptx_fail(frame->walk, ptx_no_memory);
	copy_knowledge(start, state);
	start->possible = 1;
	for (uint32_t i = 0; i < function->argument_count; i++) {
		const struct ptx_argument *known = &function->argument[i];
		struct ptx_value value;

		if (function->reg[known->reg].slot == PTX_NO_SLOT)
			continue;
		value = argument(frame, state, call, known->variable, known->offset);
		start->many[function->reg[known->reg].slot] = value;
	}
	rc = ptx_walk_function(callee, start);
	free(start);
	if (rc)
		return -1;
	if (!callee->leave) {
		if (!is_guarded)
			state->possible = 0;
		return 0;
	}
	/* The function's facts about the caller's numbers also hold after the call. */
	if (!is_guarded)
		copy_knowledge(state, callee->leave);
	give_results(frame, state, callee, call);
	return 0;
}

/* Returns 1 if only some of the state's threads make the call. */
static int is_part(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_instruction *in)
{
	struct ptx_value none = ptx_constant(0);

	if (!frame->walk->collects)
		return 0;
	if (in->guard >= 0) {
		ptx_copy_state(frame->function, frame->spare, state);
		if (!ptx_assume(frame, frame->spare, (uint32_t)in->guard, !in->negated, 0))
			return 1;
	}
	return ptx_is_some(frame, &none, state);
}

int ptx_call(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];
	const struct ptx_operand *operand = &frame->function->operand[in->operand];
	struct call call = { 0 };
	uint32_t at = 0;

	if (at < in->count && operand[at].kind == OPERAND_VECTOR) {
		call.result = &operand[at];
		at = ptx_operand_end(operand, at);
	}
	if (at < in->count && operand[at].kind == OPERAND_FUNCTION)
		call.function = &frame->walk->module->function[operand[at].number];
	at++;
	if (at < in->count && operand[at].kind == OPERAND_VECTOR)
		call.argument = &operand[at];
	struct ptx_frame callee;
	uint32_t path;
	int rc;

	if (!call.function || !call.function->has_body) {
		const char *why = why_unknown(call.function);

		if (why)
			ptx_doubt(frame->walk, why);
		give_results(frame, state, NULL, &call);
		return 0;
	}
	path = path_of(frame->walk, frame->path, instruction);
	if (!path || frame->depth >= DEPTH_LIMIT ||
		ptx_parse_function(frame->walk->module, call.function)) {
		ptx_doubt(frame->walk, "it calls a function that is not understood");
		give_results(frame, state, NULL, &call);
		return 0;
	}
	rc = ptx_frame_init(&callee, frame->walk, call.function, path, frame->depth + 1);
	callee.caller = frame;
	callee.is_part = is_part(frame, state, in);
	frame->instruction = instruction;
	callee.may_have_waited = !ptx_is_early(frame);
	if (!rc)
		rc = enter(frame, state, &call, &callee, in->guard >= 0);
	ptx_frame_release(&callee);
	return rc;
}

/* The functions that can be reached, each once. */
struct reach {
	struct ptx_module *module;
	uint32_t *function;
	uint32_t count;
	uint8_t *seen;               /* by function */
	int doubt;                   /* the target of a call is unknown */
	int prints, waits, triggers; /* a function does so */
};

static void reach(struct reach *reach, uint32_t number)
{
	if (!reach->seen[number])
		reach->function[reach->count++] = number;
	reach->seen[number] = 1;
}

static void look_at(struct reach *all, const struct ptx_function *function,
	const struct ptx_instruction *in)
{
	if (in->opcode == OP_CALL) {
		/* Follows the call's target: the first operand, or the one after the results. */
		const struct ptx_operand *operand = &function->operand[in->operand];
		uint32_t at = in->count && operand[0].kind == OPERAND_VECTOR
			? ptx_operand_end(operand, 0)
			: 0;

		if (at < in->count && operand[at].kind == OPERAND_FUNCTION)
			reach(all, operand[at].number);
		else
			all->doubt = 1;
	}
	if (in->opcode != OP_GRIDDEPCONTROL)
		return;
	all->waits |= (in->modifiers & MODIFIER_WAIT) != 0;
	all->triggers |= (in->modifiers & MODIFIER_LAUNCH) != 0;
}

static void follow(struct reach *all, struct ptx_function *function)
{
	enum builtin what = builtin_of(function->name, function->length);

	all->prints |= what == BUILTIN_PRINTF;
	/* One of CUDA's own, or linked from elsewhere. */
	if (!function->has_body) {
		all->doubt |= what == BUILTIN_NONE || what == BUILTIN_LAUNCH;
		return;
	}
	if (ptx_parse_function(all->module, function)) {
		all->doubt = 1;
		return;
	}
	for (uint32_t i = 0; i < function->instruction_count; i++)
		look_at(all, function, &function->instruction[i]);
}

static void follow_all(struct reach *all, size_t kernel)
{
	all->function = calloc(all->module->function_count, sizeof(*all->function));
	all->seen = calloc(all->module->function_count, 1);
	if (all->function && all->seen) {
		reach(all, all->module->kernel[kernel]);
		for (uint32_t i = 0; i < all->count; i++)
			follow(all, &all->module->function[all->function[i]]);
	} else {
		all->doubt = 1;
	}
	free(all->function);
	free(all->seen);
}

int ptx_prints(struct ptx_module *module, size_t kernel)
{
	struct reach all = { .module = module };

	follow_all(&all, kernel);
	return all.prints ? 1 : all.doubt ? -1 : 0;
}

struct ptx_dependence ptx_dependence(struct ptx_module *module, size_t kernel)
{
	struct reach all = { .module = module };
	int none;

	follow_all(&all, kernel);
	none = all.doubt ? -1 : 0;
	return (struct ptx_dependence){ all.waits ? 1 : none, all.triggers ? 1 : none };
}
