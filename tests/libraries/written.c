/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "written.h"

static int file_of(uint8_t kind)
{
	switch (kind) {
	case SASS_OPERAND_GENERAL:
		return 0;
	case SASS_OPERAND_UNIFORM:
		return 1;
	case SASS_OPERAND_PREDICATE:
		return 2;
	case SASS_OPERAND_UNIFORM_PREDICATE:
		return 3;
	default:
		return -1;
	}
}

static int count_of(const struct sass_operand *operand)
{
	return file_of(operand->kind) < 2 ? operand->count : 1;
}

static void add(struct written *written, const struct sass_operand *operand)
{
	int file = file_of(operand->kind);

	if (file < 0 || operand->number == SASS_NONE)
		return;
	for (int i = 0; i < count_of(operand); i++)
		written->by[file][operand->number + i] = 1;
}

/* A call out of the section: what it returns is written elsewhere. */
static int leaves(const struct sass_instruction *in)
{
	return in->opcode == SASS_CALL &&
		(!in->is_relative || in->from[0].kind != SASS_OPERAND_LABEL);
}

void written_find(struct written *written, const struct machine_code *code, uint32_t number)
{
	const struct machine_section *section = &code->section[number];
	const struct machine_function *first = machine_function_at(code, number, 0);

	memset(written, 0, sizeof(*written));
	written->judged = first && first->is_kernel;
	for (size_t at = 0; at + SASS_BYTES <= section->size; at += SASS_BYTES) {
		struct sass_instruction in;

		if (sass_decode(code->arch, section->code + at, at, &in) || leaves(&in)) {
			written->judged = 0;
			return;
		}
		for (unsigned i = 0; i < in.to_count; i++)
			add(written, &in.to[i]);
	}
}

static int lacks(const struct written *written, int file, uint16_t number, int count)
{
	for (int i = 0; number != SASS_NONE && i < count; i++)
		if (!written->by[file][number + i])
			return 1;
	return 0;
}

/* A store of several words may have padding of a structure among them, which nothing writes. */
static int lacks_operand(const struct written *written, const struct sass_instruction *in,
	const struct sass_operand *operand)
{
	int file = file_of(operand->kind), count = count_of(operand);

	if (file < 0)
		return 0;
	if (in->opcode != SASS_ST || count == 1)
		return lacks(written, file, operand->number, count);
	for (int i = 0; operand->number != SASS_NONE && i < count; i++)
		if (written->by[file][operand->number + i])
			return 0;
	return operand->number != SASS_NONE;
}

static int lacks_address(const struct written *written, const struct sass_address *address)
{
	return lacks(written, 0, address->base, address->base_is_64 ? 2 : 1) ||
		lacks(written, 1, address->uniform, address->uniform_is_64 ? 2 : 1) ||
		lacks(written, 1, address->descriptor, 2);
}

int written_misses(const struct written *written, const struct sass_instruction *in)
{
	if (!written->judged)
		return 0;
	for (unsigned i = 0; i < in->from_count; i++)
		if (lacks_operand(written, in, &in->from[i]))
			return 1;
	return lacks(written, in->guard_is_uniform ? 3 : 2, in->guard, 1) ||
		(in->has_address && lacks_address(written, &in->address)) ||
		(in->has_address == 2 && lacks_address(written, &in->address2));
}
