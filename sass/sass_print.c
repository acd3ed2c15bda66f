/* SPDX-License-Identifier: Apache-2.0 */
/* Prints an instruction as text, approximately like NVIDIA's disassembler, for tests and users. */
#include <stdarg.h>
#include <stdio.h>

#include "sass.h"

struct text {
	char *at;
	size_t room, length;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(text->room ? text->at : NULL, text->room, format, list);
	va_end(list);
	if (length < 0)
		return;
	text->length += (size_t)length;
	if ((size_t)length >= text->room) {
		text->room = 0;
		return;
	}
	text->at += length;
	text->room -= (size_t)length;
}

static void put_number(struct text *text, int64_t value)
{
	if (value < 0)
		put(text, "-0x%llx", (unsigned long long)-(uint64_t)value);
	else
		put(text, "0x%llx", (unsigned long long)value);
}

static void put_register(struct text *text, const char *file, const char *none, uint16_t number)
{
	if (number == SASS_NONE)
		put(text, "%s", none);
	else
		put(text, "%s%u", file, number);
}

static void put_general(struct text *text, uint16_t number)
{
	put_register(text, "R", "RZ", number);
}

static void put_uniform(struct text *text, uint16_t number)
{
	put_register(text, "UR", "URZ", number);
}

static void put_special(struct text *text, uint16_t number)
{
	static const struct {
		uint16_t number;
		const char *name;
	} names[] = {
		{ SASS_SPECIAL_LANEID, "LANEID" },
		{ SASS_SPECIAL_VIRTID, "VIRTID" },
		{ SASS_SPECIAL_TID, "TID" },
		{ SASS_SPECIAL_TID_X, "TID.X" },
		{ SASS_SPECIAL_TID_Y, "TID.Y" },
		{ SASS_SPECIAL_TID_Z, "TID.Z" },
		{ SASS_SPECIAL_CTAID_X, "CTAID.X" },
		{ SASS_SPECIAL_CTAID_Y, "CTAID.Y" },
		{ SASS_SPECIAL_CTAID_Z, "CTAID.Z" },
		{ SASS_SPECIAL_SWINHI, "SWINHI" },
		{ SASS_SPECIAL_EQMASK, "EQMASK" },
		{ SASS_SPECIAL_LTMASK, "LTMASK" },
		{ SASS_SPECIAL_LEMASK, "LEMASK" },
		{ SASS_SPECIAL_GTMASK, "GTMASK" },
		{ SASS_SPECIAL_GEMASK, "GEMASK" },
		{ SASS_SPECIAL_CLOCKLO, "CLOCKLO" },
		{ SASS_SPECIAL_GLOBALTIMERLO, "GLOBALTIMERLO" },
		{ SASS_SPECIAL_CGA_CTAID, "CgaCtaId" },
		{ SASS_SPECIAL_CGA_SIZE, "CgaSize" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == number) {
			put(text, "SR_%s", names[i].name);
			return;
		}
	put(text, number == SASS_SPECIAL_ZERO_REGISTER ? "SRZ" : "SR%u", number);
}

static void put_constant(struct text *text, const struct sass_operand *operand)
{
	if (operand->bank_register != SASS_NONE)
		put(text, "cx[UR%u][", operand->bank_register);
	else
		put(text, "c[0x%x][", operand->bank);
	if (operand->number != SASS_NONE) {
		put(text, operand->is_uniform ? "UR%u" : "R%u", operand->number);
		if (operand->value)
			put(text, "+");
	}
	if (operand->value || operand->number == SASS_NONE)
		put_number(text, operand->value);
	put(text, "]");
}

static void put_operand(struct text *text, const struct sass_operand *operand)
{
	int is_predicate = operand->kind == SASS_OPERAND_PREDICATE ||
		operand->kind == SASS_OPERAND_UNIFORM_PREDICATE;

	if (operand->negated)
		put(text, is_predicate ? "!" : "-");
	if (operand->inverted)
		put(text, "~");
	if (operand->absolute)
		put(text, "|");
	switch (operand->kind) {
	case SASS_OPERAND_GENERAL:
		put_general(text, operand->number);
		break;
	case SASS_OPERAND_UNIFORM:
		put_uniform(text, operand->number);
		break;
	case SASS_OPERAND_PREDICATE:
		put_register(text, "P", "PT", operand->number);
		break;
	case SASS_OPERAND_UNIFORM_PREDICATE:
		put_register(text, "UP", "UPT", operand->number);
		break;
	case SASS_OPERAND_BARRIER:
		put(text, "B%u", operand->number);
		break;
	case SASS_OPERAND_CONSTANT:
		put_constant(text, operand);
		break;
	case SASS_OPERAND_SPECIAL:
		put_special(text, operand->number);
		break;
	case SASS_OPERAND_LABEL:
		put(text, "label ");
		put_number(text, operand->value);
		break;
	default:
		put_number(text, operand->value);
	}
	if (operand->absolute)
		put(text, "|");
}

static void put_address(struct text *text, const struct sass_address *address, int is_global,
	int shows_width)
{
	const char *plus = "";

	if (address->descriptor != SASS_NONE)
		put(text, "desc[UR%u]", address->descriptor);
	put(text, "[");
	if (address->base != SASS_NONE) {
		put_general(text, address->base);
		if (is_global && (address->uniform & address->descriptor) != SASS_NONE)
			put(text, address->base_is_64 ? ".64" : ".U32");
		else if (shows_width && address->base_is_64)
			put(text, ".64");
		if (address->scale > 1)
			put(text, ".X%u", address->scale);
		plus = "+";
	}
	if (address->uniform != SASS_NONE) {
		put(text, "%sUR%u", plus, address->uniform);
		plus = "+";
	}
	if (address->offset) {
		put(text, "%s", plus);
		put_number(text, address->offset);
	} else if (!*plus) {
		put(text, "RZ");
	}
	put(text, "]");
}

static void put_separator(struct text *text, int *first)
{
	put(text, *first ? " " : ", ");
	*first = 0;
}

static void put_operands(struct text *text, const struct sass_instruction *in)
{
	int is_global = in->space == SASS_SPACE_GLOBAL || in->space == SASS_SPACE_GENERIC;
	int is_branch = in->opcode == SASS_BRA; /* the label comes last */
	int first = 1;

	for (unsigned i = 0; i < in->to_count; i++) {
		put_separator(text, &first);
		put_operand(text, &in->to[i]);
	}
	if (in->has_address == 2) {
		put_separator(text, &first);
		put_address(text, &in->address2, 0, 0);
	}
	if (in->has_address) {
		put_separator(text, &first);
		put_address(text, &in->address, is_global, in->has_address == 2 || !is_global);
	}
	for (unsigned i = 0; i < in->from_count; i++) {
		if (is_branch && in->from[i].kind == SASS_OPERAND_LABEL)
			continue;
		put_separator(text, &first);
		put_operand(text, &in->from[i]);
		/* Prints numbers among the sources, up to the last `left` sources. */
		unsigned left = in->from_count - i - 1;
		unsigned carries = in->is_extended;

		if (in->opcode == SASS_LEA && left == carries)
			put(text, ", 0x%x", in->shift);
		if (in->opcode == SASS_LOP3 && left == 1)
			put(text, ", 0x%x", in->table);
		if (in->opcode == SASS_PLOP3 && left == 0)
			put(text, ", 0x%x, 0x%x", in->table, in->table2);
	}
	for (unsigned i = 0; is_branch && i < in->from_count; i++)
		if (in->from[i].kind == SASS_OPERAND_LABEL) {
			put_separator(text, &first);
			put_operand(text, &in->from[i]);
		}
}

int sass_print(const struct sass_instruction *in, char *out, size_t size)
{
	struct text text = { out, size, 0 };

	if (in->opcode == SASS_UNKNOWN) {
		put(&text, "unknown 0x%03x", in->number);
		return (int)text.length;
	}
	if (in->guard != SASS_NONE || in->guard_negated)
		put(&text, "@%s%s", in->guard_negated ? "!" : "", in->guard_is_uniform ? "U" : "");
	if (in->guard != SASS_NONE)
		put(&text, "P%u ", in->guard);
	else if (in->guard_negated)
		put(&text, "PT ");
	put(&text, "%s", in->name);
	put_operands(&text, in);
	return (int)text.length;
}
