/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a cubin about its functions: code, banks, relocations, jumps, the driver's words.
 */
#include "unit.h"
#include "cubin_maker.h"
#include "kernel_code.h"
#include "sass.h"

static struct made_cubin cubin;

static void open_made(struct machine_code *code)
{
	char error[IMAGE_ERROR_SIZE];

	make_cubin(&cubin);
	assert_int_equal(machine_code_open(code, cubin.data, cubin.size, 90, error), 0);
}

TEST(finds_functions)
{
	struct machine_code code;
	const struct machine_function *function;

	open_made(&code);
	assert_int_equal(code.section_count, 1);
	assert_int_equal(code.function_count, 2);
	assert_string_equal(code.section[0].name, "k");
	assert_int_equal(code.section[0].size, sizeof(made_code));
	assert_memory_equal(code.section[0].code, made_code, sizeof(made_code));
	function = machine_find_function(&code, "k");
	assert_non_null(function);
	assert_true(function->is_kernel && function->offset == 0);
	function = machine_find_function(&code, "f");
	assert_non_null(function);
	assert_true(!function->is_kernel && function->offset == 0x30 && function->size == 0x10);
	assert_null(machine_find_function(&code, "table"));
	assert_ptr_equal(machine_function_at(&code, 0, 0x30), function);
	assert_string_equal(machine_function_at(&code, 0, 0x20)->name, "k");
	assert_null(machine_function_at(&code, 1, 0));
	machine_code_close(&code);
}

TEST(finds_parameters_and_banks)
{
	struct machine_code code;
	const struct machine_section *section;

	open_made(&code);
	section = &code.section[0];
	assert_int_equal(section->parameter_base, 0x210);
	assert_int_equal(section->parameter_bytes, 24);
	assert_int_equal(section->bank[2].size, 12);
	assert_int_equal(section->bank[2].data[0], 0x20);
	assert_int_equal(section->bank[4].size, 16);
	assert_null(section->bank[3].data);
	machine_code_close(&code);
}

TEST(finds_relocations)
{
	struct machine_code code;
	const struct machine_relocation *relocation;

	open_made(&code);
	assert_int_equal(code.section[0].bank[4].relocation_count, 2);
	relocation = code.section[0].bank[4].relocation;
	assert_string_equal(relocation[0].symbol, "table");
	assert_int_equal(relocation[0].addend, 16);
	assert_int_equal(relocation[0].field, MACHINE_FIELD_64);
	assert_int_equal(relocation[0].section, MACHINE_NONE);
	assert_string_equal(relocation[1].symbol, "f");
	assert_int_equal(relocation[1].offset, 8);
	assert_true(relocation[1].is_function);
	assert_int_equal(relocation[1].section, 0);
	assert_int_equal(relocation[1].value, 0x30);
	assert_int_equal(code.section[0].relocation_count, 1);
	assert_int_equal(code.section[0].relocation[0].field, MACHINE_FIELD_IMMEDIATE_LOW);
	machine_code_close(&code);
}

/* The call's target is the function; the jump's list and the return are where they say. */
TEST(code_and_lists_agree)
{
	struct machine_code code;
	struct sass_instruction in;
	const struct machine_jump *jump;

	open_made(&code);
	assert_int_equal(sass_decode(90, code.section[0].code, 0, &in), 0);
	assert_int_equal(in.opcode, SASS_CALL);
	assert_int_equal(in.from[0].kind, SASS_OPERAND_LABEL);
	assert_string_equal(machine_function_at(&code, 0, (uint64_t)in.from[0].value)->name, "f");
	assert_int_equal(sass_decode(90, code.section[0].code + 0x10, 0x10, &in), 0);
	assert_int_equal(in.opcode, SASS_BRX);
	assert_int_equal(in.from[1].value, 0);
	jump = machine_find_jump(&code.section[0], 0x10);
	assert_non_null(jump);
	assert_int_equal(jump->target_count, 3);
	assert_int_equal(jump->target[2], 0x30);
	assert_null(machine_find_jump(&code.section[0], 0));
	assert_int_equal(sass_decode(90, code.section[0].code + 0x30, 0x30, &in), 0);
	assert_int_equal(in.opcode, SASS_RET);
	assert_true(in.is_relative);
	assert_int_equal(in.from[1].value, 0);
	machine_code_close(&code);
}

TEST(knows_the_drivers_words)
{
	assert_int_equal(machine_driver_word(75, 0), MACHINE_WORD_BLOCK_X);
	assert_int_equal(machine_driver_word(90, 0x14), MACHINE_WORD_GRID_Z);
	assert_int_equal(machine_driver_word(100, 0), MACHINE_WORD_OTHER);
	assert_int_equal(machine_driver_word(100, 0x364), MACHINE_WORD_BLOCK_Y);
	assert_int_equal(machine_driver_word(120, 0x370), MACHINE_WORD_GRID_X);
	assert_int_equal(machine_driver_word(86, 0x118), MACHINE_WORD_DESCRIPTOR);
	assert_int_equal(machine_driver_word(90, 0x118), MACHINE_WORD_OTHER);
	assert_int_equal(machine_driver_word(90, 0xc0), MACHINE_WORD_BANK);
	assert_int_equal(machine_driver_word(90, 0x198), MACHINE_WORD_PARAMETERS);
	assert_int_equal(machine_parameters_begin(90), 0x210);
}

/* Cut anywhere, or with any byte changed: refused or read, nothing outside. */
TEST(damaged_ones_are_read_within_bounds)
{
	make_cubin(&cubin);
	for (size_t size = 0; size <= cubin.size; size++) {
		struct machine_code code;
		char error[IMAGE_ERROR_SIZE];
		uint8_t *copy = malloc(size + 1);

		assert_non_null(copy);
		memcpy(copy, cubin.data, size);
		if (machine_code_open(&code, copy, size, 90, error) == 0)
			machine_code_close(&code);
		free(copy);
	}
	for (size_t at = 0; at < cubin.size; at++) {
		struct machine_code code;
		char error[IMAGE_ERROR_SIZE];
		uint8_t *copy = malloc(cubin.size);

		assert_non_null(copy);
		memcpy(copy, cubin.data, cubin.size);
		copy[at] ^= 0xff;
		if (machine_code_open(&code, copy, cubin.size, 90, error) == 0)
			machine_code_close(&code);
		free(copy);
	}
}
