/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile machine code: cubins, each instruction of their functions, and any bytes as such. */
#include <stdlib.h>
#include <string.h>

#include "../unit/code/cubin_maker.h"
#include "fuzz.h"
#include "kernel_code.h"
#include "lower.h"
#include "sass.h"

#define INSTRUCTIONS 4096

#define STEPS 20000

static const unsigned archs[] = { 75, 80, 90, 100, 120 };

static void decode(unsigned arch, const uint8_t *code, size_t size)
{
	for (size_t at = 0; at + SASS_BYTES <= size && at < INSTRUCTIONS * SASS_BYTES;
		at += SASS_BYTES) {
		struct sass_instruction in;
		char text[128];

		if (sass_decode(arch, code + at, at, &in) && in.to_count + in.from_count)
			abort(); /* unknown, but with operands */
		if (in.to_count > SASS_TO || in.from_count > SASS_FROM)
			abort();
		sass_print(&in, text, sizeof(text));
	}
}

static unsigned sum(const char *text)
{
	unsigned value = 0;

	while (*text)
		value += (unsigned char)*text++;
	return value;
}

static void use_section(const struct machine_code *code, uint32_t number)
{
	const struct machine_section *section = &code->section[number];
	unsigned seen = sum(section->name);

	decode(code->arch, section->code, section->size);
	for (size_t i = 0; i < section->relocation_count; i++)
		seen += sum(section->relocation[i].symbol);
	for (size_t i = 0; i < section->jump_count; i++)
		for (uint32_t j = 0; j < section->jump[i].target_count; j++) {
			machine_function_at(code, number, section->jump[i].target[j]);
			machine_find_jump(section, section->jump[i].target[j]);
		}
	for (int i = 0; i < MACHINE_BANKS; i++)
		for (size_t j = 0; j < section->bank[i].size; j++)
			seen += section->bank[i].data[j];
	machine_driver_word(code->arch, seen);
}

/* Kernels as the interpreter sees them. */
static void interpret(const uint8_t *data, size_t size, unsigned arch)
{
	static const struct ptx_launch any;
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *module = machine_open(data, size, arch, error);
	struct ptx_access access;

	for (size_t i = 0; module && i < ptx_kernel_count(module) && i < 8; i++) {
		ptx_interpret(module, i, &any, STEPS, &access);
		ptx_access_release(&access);
	}
	ptx_close(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct machine_code code;
	unsigned arch = archs[size % 5];

	decode(arch, data, size);
	if (machine_code_open(&code, data, size, arch, error))
		return 0;
	for (uint32_t i = 0; i < code.section_count && i < 64; i++)
		use_section(&code, i);
	for (uint32_t i = 0; i < code.function_count && i < 64; i++)
		machine_find_function(&code, code.function[i].name);
	machine_code_close(&code);
	interpret(data, size, arch);
	return 0;
}

int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed)
{
	static struct made_cubin cubin;

	if (n > 0)
		return 0;
	make_cubin(&cubin);
	seed->size = cubin.size;
	seed->data = malloc(cubin.size);
	if (!seed->data)
		return -1;
	memcpy(seed->data, cubin.data, cubin.size);
	return 1;
}
