/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of machine code against NVIDIA's disassembler: tests/data/sass.txt has a line for
 * each opcode, form and shape found in libraries for sm_75 to sm_120.
 */
#include "unit.h"

#include <ctype.h>
#include <inttypes.h>

#include "sass_table.h"

#define OPERANDS 12

/* One line of the disassembler, or ours. */
struct line {
	char text[256];
	char *guard, *name, *modifiers, *operand[OPERANDS];
	unsigned count;
};

static void remove_all(char *text, const char *what)
{
	char *at;

	while ((at = strstr(text, what)))
		memmove(at, at + strlen(what), strlen(at + strlen(what)) + 1);
}

/* Cuts a line into guard, name, modifiers and operands; no operand is split within brackets. */
static void cut(struct line *line, const char *text)
{
	char *at, *rest;
	int depth = 0;

	memset(line, 0, sizeof(*line));
	snprintf(line->text, sizeof(line->text), "%s", text);
	at = line->text;
	if (*at == '@') {
		line->guard = at;
		at += strcspn(at, " ");
		*at++ = '\0';
	}
	line->name = at;
	at += strcspn(at, " ");
	rest = *at ? at + 1 : at;
	*at = '\0';
	line->modifiers = line->name + strcspn(line->name, ".");
	if (*line->modifiers)
		*line->modifiers++ = '\0';
	while (*rest && line->count < OPERANDS) {
		line->operand[line->count++] = rest;
		for (; *rest && (depth || *rest != ','); rest++)
			depth += (*rest == '[') - (*rest == ']');
		if (*rest)
			*rest++ = '\0';
		rest += *rest == ' ';
	}
}

static int has_modifier(const struct line *line, const char *modifier)
{
	size_t length = strlen(modifier);

	for (const char *at = line->modifiers; *at; at += *at == '.') {
		size_t size = strcspn(at, ".");

		if (size == length && strncmp(at, modifier, size) == 0)
			return 1;
		at += size;
	}
	return 0;
}

/* Removes what the disassembler adds to an operand and nobody needs. */
static void simplify(char *operand, const struct line *line)
{
	static const char *const noise[] = { ".H0_H0", ".H1_H1", ".H0_H1", ".F32x2", ".F32", ".B0",
		".B1", ".B2", ".B3", ".H0", ".H1", ".LO_HI", ".HI_LO", ".NP", ".ROW", ".COL",
		"+URZ", ".tnspB", ".tnspA" };

	for (size_t i = 0; i < sizeof(noise) / sizeof(*noise); i++)
		remove_all(operand, noise[i]);
	if (strncmp(operand, "c[", 2) == 0)
		remove_all(operand, " ");
	if (strncmp(operand, "[RZ.U32+", 8) == 0)
		memmove(operand + 1, operand + 8, strlen(operand + 8) + 1);
	if (strncmp(line->name, "UTMA", 4) == 0 || strncmp(line->name, "UBLK", 4) == 0) {
		remove_all(operand, "desc");
		remove_all(operand, "[");
		remove_all(operand, "]");
	}
	if (strcmp(line->name, "LDGMC") == 0)
		remove_all(operand, ".64");
}

static int is_float(const char *text)
{
	text += *text == '-' || *text == '+';
	if (strncmp(text, "INF", 3) == 0 || strncmp(text, "QNAN", 4) == 0)
		return 1;
	return isdigit((unsigned char)*text) && strncmp(text, "0x", 2) != 0;
}

static int is_same_number(const char *a, const char *b)
{
	char *end_a, *end_b;
	uint64_t x = (uint64_t)strtoll(a, &end_a, 16), y = (uint64_t)strtoll(b, &end_b, 16);

	return end_a != a && end_b != b && !*end_a && !*end_b &&
		(x == y || (uint32_t)x == (uint32_t)y);
}

/* Compares the disassembler's operand with ours. */
static int is_same(const char *theirs, const char *ours)
{
	if (strcmp(theirs, ours) == 0)
		return 1;
	if (*theirs == '`' || is_float(theirs))
		return *ours == '0' || *ours == '-' || *ours == '[' || *ours == 'c' ||
			strncmp(ours, "label", 5) == 0;
	if (strcmp(theirs, "c[0x0][RZ]") == 0 || strcmp(theirs, "c[0x4][URZ]") == 0)
		return strstr(ours, "][0x0]") != NULL;
	return is_same_number(theirs, ours);
}

/* The disassembler leaves out what has no effect. */
static int may_be_left_out(const char *ours)
{
	ours += *ours == '!' || *ours == '-' || *ours == '~';
	return strcmp(ours, "label 0x0") == 0 || strcmp(ours, "PT") == 0 ||
		strcmp(ours, "UPT") == 0 || strcmp(ours, "RZ") == 0 || strcmp(ours, "URZ") == 0;
}

/* Each of ours is theirs, in order. */
static int are_same(const struct line *theirs, const struct line *ours)
{
	unsigned at = 0;

	for (unsigned i = 0; i < ours->count; i++) {
		if (at < theirs->count && is_same(theirs->operand[at], ours->operand[i])) {
			at++;
			if (at < theirs->count && is_float(theirs->operand[at]) &&
				is_float(theirs->operand[at - 1]))
				at++; /* two halves of a number */
		} else if (!may_be_left_out(ours->operand[i])) {
			return 0;
		}
	}
	while (at < theirs->count && may_be_left_out(theirs->operand[at]))
		at++;
	return at == theirs->count;
}

static const char *unsigned_name(const char *operand)
{
	return operand + strspn(operand, "-|~");
}

/* The written operands are equal, and the registers read are among ours. */
static int are_written(const struct line *theirs, const struct line *ours, unsigned written,
	int omits)
{
	unsigned at = 0;

	for (unsigned i = 0; i < written && i < ours->count; i++) {
		if (at < theirs->count && strcmp(theirs->operand[at], ours->operand[i]) == 0)
			at++;
		else if (!may_be_left_out(ours->operand[i]))
			return 0;
	}
	for (; !omits && at < theirs->count; at++) {
		const char *name = unsigned_name(theirs->operand[at]);
		size_t length = strcspn(name, "|");
		int found = *name != 'R' && *name != 'U';

		for (unsigned i = written; i < ours->count; i++)
			found |= strncmp(unsigned_name(ours->operand[i]), name, length) == 0;
		if (!found)
			return 0;
	}
	return 1;
}

/* BRX R4 -0x10 is two operands; a jump's number counts from the next instruction on. */
static void cut_jump(struct line *theirs, uint64_t next)
{
	char *space = theirs->count ? strchr(theirs->operand[0], ' ') : NULL;
	static char label[64];

	if (!space)
		return;
	*space++ = '\0';
	if (*space != '`') {
		int64_t value = strtoll(space, NULL, 16) + (int64_t)next;

		snprintf(label, sizeof(label), "label %s0x%" PRIx64, value < 0 ? "-" : "",
			(uint64_t)(value < 0 ? -value : value));
		space = label;
	}
	theirs->operand[theirs->count++] = space;
}

static void drop(struct line *line, const char *name)
{
	unsigned to = 0;

	for (unsigned i = 0; i < line->count; i++)
		if (strcmp(line->operand[i], name) != 0)
			line->operand[to++] = line->operand[i];
	line->count = to;
}

static int compare_operands(struct line *theirs, const struct sass_instruction *in, unsigned arch)
{
	struct line ours;
	char text[256];

	sass_print(in, text, sizeof(text));
	cut(&ours, text);
	for (unsigned i = 0; i < theirs->count; i++)
		simplify(theirs->operand[i], theirs);
	for (unsigned i = 0; i < ours.count; i++) {
		char *end = strchr(ours.operand[i], ']');

		if (arch < 90 && strncmp(ours.operand[i], "desc", 4) == 0)
			ours.operand[i] = end + 1;
		if (strcmp(theirs->name, "LDGMC") == 0)
			remove_all(ours.operand[i], ".64");
	}
	if (in->opcode == SASS_BRX || in->opcode == SASS_RET || in->opcode == SASS_CALL)
		cut_jump(theirs, has_modifier(theirs, "ABS") ? 0 : SASS_BYTES);
	drop(theirs, "PR");
	drop(theirs, "UPR");
	switch (in->opcode) {
	case SASS_NOP:
	case SASS_BAR:
	case SASS_DEPBAR:
	case SASS_MEMBAR:
	case SASS_BPT:
	case SASS_CCTL:
		return 1;
	case SASS_R2P:
		return are_same(theirs,
			&(struct line){ .operand = { ours.operand[in->to_count],
						ours.operand[in->to_count + 1] },
				.count = 2 });
	case SASS_OTHER:
	case SASS_TEX:
		return are_written(theirs, &ours, in->to_count,
			strstr(theirs->name, "MMA") || strcmp(theirs->name, "F2FP") == 0 ||
				in->opcode == SASS_TEX);
	default:
		return are_same(theirs, &ours);
	}
}

static int compare_guard(const char *theirs, const struct sass_instruction *in)
{
	char ours[16] = "";

	if (in->guard != SASS_NONE)
		snprintf(ours, sizeof(ours), "@%s%sP%u", in->guard_negated ? "!" : "",
			in->guard_is_uniform ? "U" : "", in->guard);
	else if (in->guard_negated)
		snprintf(ours, sizeof(ours), "@!%sPT", in->guard_is_uniform ? "U" : "");
	return strcmp(theirs ? theirs : "", ours) == 0;
}

static unsigned access_bytes(const struct line *line)
{
	static const struct {
		const char *modifier;
		unsigned bytes;
	} sizes[] = { { "U8", 1 }, { "S8", 1 }, { "U16", 2 }, { "S16", 2 }, { "64", 8 },
		{ "128", 16 }, { "256", 32 }, { "F64", 8 }, { "F32x2", 8 }, { "F32x4", 16 },
		{ "F16x4", 8 }, { "F16x8", 16 }, { "BF16x4", 8 }, { "BF16x8", 16 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (has_modifier(line, sizes[i].modifier))
			return sizes[i].bytes;
	return 4;
}

static int is_one_of(const struct line *line, const char *const *names, unsigned found)
{
	for (unsigned i = 0; names[i]; i++)
		if (has_modifier(line, names[i]) != (i == found))
			return 0;
	return 1;
}

static int compare_access(const struct line *line, const struct sass_instruction *in)
{
	static const char *const operations[] = { "ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR",
		"XOR", "EXCH", NULL };
	int is_signed = has_modifier(line, "S8") || has_modifier(line, "S16");

	if (strcmp(line->name, "STAS") == 0)
		return 1;
	if (in->bytes != access_bytes(line))
		return 0;
	if (in->space == SASS_SPACE_GLOBAL || in->space == SASS_SPACE_GENERIC) {
		if ((in->strength == SASS_STRONG) != has_modifier(line, "STRONG") &&
			in->opcode != SASS_LDGSTS)
			return 0;
		if (in->opcode == SASS_LD &&
			(in->strength == SASS_CONSTANT_DATA) != has_modifier(line, "CONSTANT"))
			return 0;
	}
	if ((in->opcode == SASS_ATOM || in->opcode == SASS_RED) &&
		in->operation <= SASS_OPERATION_EXCH && !is_one_of(line, operations, in->operation))
		return 0;
	if (in->operation == SASS_OPERATION_CAS)
		return has_modifier(line, "CAS") || has_modifier(line, "CAST");
	return in->opcode != SASS_LD || strcmp(line->name, "LDGMC") == 0 ||
		in->is_signed == is_signed;
}

static int compare_compare(const struct line *line, const struct sass_instruction *in)
{
	static const char *const compares[] = { "F", "LT", "EQ", "LE", "GT", "NE", "GE", "T",
		NULL };
	static const char *const combines[] = { "AND", "OR", "XOR", NULL };
	int is_unsigned = has_modifier(line, "U32") || has_modifier(line, "U64");

	return is_one_of(line, compares, in->compare) && is_one_of(line, combines, in->combine) &&
		is_unsigned == !in->is_signed && has_modifier(line, "EX") == in->is_extended &&
		(has_modifier(line, "S64") || has_modifier(line, "U64")) == in->is_64;
}

static int compare_shift(const struct line *line, const struct sass_instruction *in)
{
	static const char *const types[] = { "S64", "U64", "S32", "U32", NULL };

	return has_modifier(line, "R") == in->shift_right &&
		has_modifier(line, "L") == !in->shift_right &&
		has_modifier(line, "HI") == in->shift_high &&
		has_modifier(line, "W") == in->shift_wraps &&
		is_one_of(line, types, in->shift_type);
}

static int compare_modifiers(const struct line *line, const struct sass_instruction *in)
{
	switch (in->opcode) {
	case SASS_LD:
	case SASS_ST:
	case SASS_ATOM:
	case SASS_RED:
	case SASS_LDGSTS:
	case SASS_LDC:
		return compare_access(line, in);
	case SASS_LDSM:
	case SASS_STSM:
		return in->bytes ==
			(has_modifier(line, "4")                  ? 16
					: has_modifier(line, "2") ? 8
								  : 4);
	case SASS_ISETP:
		return compare_compare(line, in);
	case SASS_SHF:
		return compare_shift(line, in);
	case SASS_IADD:
		return has_modifier(line, "X") == in->is_extended &&
			has_modifier(line, "64") == in->is_64;
	case SASS_MOV:
	case SASS_SEL:
		return has_modifier(line, "64") == in->is_64;
	case SASS_IMAD:
		return has_modifier(line, "X") == in->is_extended &&
			has_modifier(line, "WIDE") == in->is_wide &&
			has_modifier(line, "HI") == in->is_high &&
			(has_modifier(line, "U32") == !in->is_signed || has_modifier(line, "X") ||
				has_modifier(line, "MOV"));
	case SASS_LEA:
		return has_modifier(line, "X") == in->is_extended &&
			has_modifier(line, "HI") == in->is_high &&
			has_modifier(line, "SX32") == in->is_signed;
	case SASS_SPECIAL:
		return in->to[0].count ==
			(strcmp(line->name, "CS2R") == 0 && !has_modifier(line, "32")) + 1;
	case SASS_RET:
	case SASS_CALL:
		return has_modifier(line, "REL") == in->is_relative;
	default:
		return 1;
	}
}

/* How many registers an instruction of the other kind writes. */
static unsigned written_registers(const struct line *line)
{
	unsigned rows, columns;

	if (strcmp(line->name, "HGMMA") == 0 || strcmp(line->name, "QGMMA") == 0 ||
		strcmp(line->name, "IGMMA") == 0) {
		const char *shape = strstr(line->modifiers, "64x");

		if (!shape || sscanf(shape, "%ux%u", &rows, &columns) != 2)
			return 0;
		return has_modifier(line, "F16") && !has_modifier(line, "F32") ? columns / 4
									       : columns / 2;
	}
	if (strcmp(line->name, "HMMA") == 0)
		return has_modifier(line, "884") ? 2 : has_modifier(line, "F32") ? 4 : 2;
	if (line->name[0] == 'D' || strcmp(line->name, "FFMA2") == 0)
		return 2;
	if (strcmp(line->name, "I2F") == 0)
		return has_modifier(line, "F64") ? 2 : 1;
	if (strcmp(line->name, "F2F") == 0) /* to, from */
		return strstr(line->modifiers, "F64.") && !strstr(line->modifiers, "F32.F64") ? 2
											      : 1;
	if (strcmp(line->name, "F2I") == 0)
		return has_modifier(line, "S64") || has_modifier(line, "U64") ? 2 : 1;
	return 0;
}

static const char *check_line(const char *text, unsigned arch, const uint8_t *bytes)
{
	struct sass_instruction in;
	struct line line;
	unsigned registers;

	cut(&line, text);
	if (sass_decode(arch, bytes, 0, &in))
		return "unknown";
	if (strcmp(in.name, line.name) != 0)
		return "name";
	if (!compare_guard(line.guard, &in))
		return "guard";
	registers = written_registers(&line);
	if (in.opcode == SASS_OTHER && in.to_count && registers &&
		in.to[0].kind == SASS_OPERAND_GENERAL && in.to[0].count != registers)
		return "registers written";
	if (!compare_operands(&line, &in, arch))
		return "operands";
	cut(&line, text);
	return compare_modifiers(&line, &in) ? NULL : "modifiers";
}

TEST(every_line_decodes)
{
	char path[512], text[512];
	unsigned lines = 0, wrong = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/sass.txt", getenv("TEST_DATA"));
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(text, sizeof(text), file)) {
		uint64_t word[2];
		unsigned arch;
		int length;
		const char *what;

		text[strcspn(text, "\n")] = '\0';
		if (sscanf(text, "%u %" SCNx64 " %" SCNx64 " %n", &arch, &word[0], &word[1],
			    &length) != 3)
			continue;
		lines++;
		what = check_line(text + length, arch, (const uint8_t *)word);
		if (what) {
			struct sass_instruction in;
			char ours[256];

			sass_decode(arch, (const uint8_t *)word, 0, &in);
			sass_print(&in, ours, sizeof(ours));
			if (wrong++ < 20)
				print_error("%s: %s\n\t%s\n", what, text, ours);
		}
	}
	fclose(file);
	assert_true(lines > 4000);
	assert_int_equal(wrong, 0);
}

/*
 * Instructions that the sample of libraries lacks, from kernels compiled from PTX that has them:
 * what they do is known from the PTX.
 */
static const struct known {
	unsigned arch;
	uint64_t word[2];
	const char *text; /* as we write it */
	uint8_t opcode, space, direction, bytes;
	uint8_t written; /* registers of the first result */
} known[] = {
	/* cp.async.bulk: global to shared, shared to global, shared to shared; reduction */
	{ 90, { 0x00000006040073ba, 0x0001d80008000208 }, "UBLKCP UR6, UR4, UR8", SASS_UBLKCP,
		SASS_SPACE_GLOBAL, SASS_READS, 0, 0 },
	{ 90, { 0x00000006040093ba, 0x0003e20008000405 }, "@!UP1 UBLKCP UR6, UR4, UR5", SASS_UBLKCP,
		SASS_SPACE_GLOBAL, SASS_WRITES, 0, 0 },
	{ 100, { 0x00000008040073ba, 0x0025d80008000605 }, "UBLKCP UR8, UR4, UR5", SASS_UBLKCP,
		SASS_SPACE_SHARED, SASS_NO_DIRECTION, 0, 0 },
	{ 100, { 0x00000006040073bb, 0x0025d800080a0405 }, "UBLKRED UR6, UR4, UR5", SASS_UBLKRED,
		SASS_SPACE_GLOBAL, SASS_UPDATES, 0, 0 },
	{ 90, { 0x00000004080073b6, 0x0003d80008008000 }, "UTMAREDG UR4, UR8", SASS_UTMAREDG, 0, 0,
		0, 0 },
	/* red.global.add.v4.f32, .v8.f16; atom.global.add.v2.f32, .exch.b128; st.async.v4 */
	{ 90, { 0x0000000c020079a6, 0x0011e2000c10f786 }, "REDG desc[UR6][R2.64], R12", SASS_RED,
		SASS_SPACE_GLOBAL, SASS_UPDATES, 16, 0 },
	{ 100, { 0x000000040a0079a6, 0x002fe8000c12e506 }, "REDG desc[UR6][R10.64], R4", SASS_RED,
		SASS_SPACE_GLOBAL, SASS_UPDATES, 16, 0 },
	{ 90, { 0x00000018101079a3, 0x008ee200081ef5c6 }, "ATOMG PT, R16, desc[UR6][R16.64], R24",
		SASS_ATOM, SASS_SPACE_GLOBAL, SASS_UPDATES, 8, 0 },
	{ 90, { 0x0000000804ff79a8, 0x001fe2000c1ee9c6 }, "ATOMG PT, RZ, desc[UR6][R4.64], R8",
		SASS_ATOM, SASS_SPACE_GLOBAL, SASS_UPDATES, 16, 0 },
	{ 90, { 0x0000000802007dbd, 0x0001e6000c000c3f }, "STAS [R2.64], R8", SASS_ST,
		SASS_SPACE_SHARED, SASS_WRITES, 16, 0 },
	/* ld.global.v8.f32 [p - 4096] */
	{ 100, { 0xffff80040218797e, 0x000e6a000812191c }, "LDG R28, R24, desc[UR4][R2.64+-0x1000]",
		SASS_LD, SASS_SPACE_GLOBAL, SASS_READS, 32, 4 },
	/* tcgen05.ld.32x32b.x4, .16x256b.x1; mma of s8 and f64 */
	{ 100, { 0x00000004000479ee, 0x001e220008140000 }, "LDTM R4, UR4", SASS_NOP, 0, 0, 0, 4 },
	{ 100, { 0x00000004000c79ee, 0x001e240008020000 }, "LDTM R12, UR4", SASS_NOP, 0, 0, 0, 4 },
	{ 75, { 0x00000000000a7237, 0x0c4e2800000054ff }, "IMMA R10, R0, R0, RZ", SASS_OTHER, 0, 0,
		0, 2 },
	{ 80, { 0x0000000604087237, 0x004ff600004054ff }, "IMMA R8, R4, R6, RZ", SASS_OTHER, 0, 0,
		0, 4 },
	{ 80, { 0x000000020204723f, 0x00406800000000ff }, "DMMA R4, R2, R2, RZ", SASS_OTHER, 0, 0,
		0, 4 },
	{ 90, { 0x0000000c0810723f, 0x004ede00000010ff }, "DMMA R16, R8, R12, RZ", SASS_OTHER, 0, 0,
		0, 8 },
	/* A surface whose object is the first parameter; st of 4 bytes */
	{ 80, { 0x7000580a08007b9d, 0x000fe2000010a900 }, "SUST c[0x0][0x160], R8, R10", SASS_SUST,
		SASS_SPACE_SURFACE, SASS_WRITES, 4, 0 },
	/* multimem.ld_reduce of 16 numbers of 8 bits, as NCCL has it */
	{ 100, { 0x00000000360479a5, 0x001ea8000b834dff }, "LDGMC R4, [R54]", SASS_LD,
		SASS_SPACE_GLOBAL, SASS_READS, 16, 4 },
};

TEST(instructions_of_ptx_decode)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct known *one = &known[i];
		struct sass_instruction in;
		char text[128];

		assert_int_equal(sass_decode(one->arch, (const uint8_t *)one->word, 0, &in), 0);
		sass_print(&in, text, sizeof(text));
		assert_string_equal(text, one->text);
		assert_int_equal(in.opcode, one->opcode);
		assert_int_equal(in.space, one->space);
		assert_int_equal(in.direction, one->direction);
		assert_int_equal(in.bytes, one->bytes);
		if (one->written)
			assert_int_equal(in.to[0].count, one->written);
	}
}

TEST(rows_are_in_order)
{
	for (size_t i = 1; i < sass_row_count; i++)
		assert_true(sass_rows[i - 1].number <= sass_rows[i].number);
}

/* Two rows for the same opcode, form and architecture: the second one would never be found. */
TEST(rows_do_not_overlap)
{
	for (size_t i = 1; i < sass_row_count; i++) {
		for (size_t j = i; j-- > 0 && sass_rows[j].number == sass_rows[i].number;) {
			const struct sass_row *a = &sass_rows[j], *b = &sass_rows[i];

			if (!(a->forms & b->forms))
				continue;
			assert_true(
				(a->last && a->last < b->first) || (b->last && b->last < a->first));
		}
	}
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 16;
}

/* Whatever the bytes are: known, with operands within bounds, or unknown and nothing else. */
TEST(any_bytes_decode)
{
	static const unsigned archs[] = { 0, 70, 75, 80, 86, 89, 90, 100, 103, 120, 121, 255,
		1000 };
	uint64_t seed = 1;

	for (unsigned i = 0; i < 400000; i++) {
		uint64_t word[2] = { next_random(&seed) << 32 ^ next_random(&seed),
			next_random(&seed) << 32 ^ next_random(&seed) };
		struct sass_instruction in;
		char text[64];

		if (sass_decode(archs[i % 13], (const uint8_t *)word, word[1], &in)) {
			assert_int_equal(in.opcode, SASS_UNKNOWN);
			assert_int_equal(in.to_count + in.from_count, 0);
		} else {
			assert_true(in.to_count <= SASS_TO && in.from_count <= SASS_FROM);
		}
		assert_true(sass_print(&in, text, sizeof(text)) > 0);
	}
}
