/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information as the recorder reads it: the same as libdw reads, in every row of every
 * function of libraries that any program has.
 */
#include "unit.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "frame_rules.h"

#define STACK_POINTER 7 /* libdw says what it is by the frame's address */

struct library {
	Elf *elf;
	Dwarf_CFI *cfi;
	Elf_Data *entries; /* .eh_frame */
	GElf_Addr address; /* of that */
	unsigned char ident[EI_NIDENT];
	int descriptor;
};

static void find_entries(struct library *library)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(library->elf, &names), 0);
	while ((section = elf_nextscn(library->elf, section))) {
		gelf_getshdr(section, &header);
		if (strcmp(elf_strptr(library->elf, names, header.sh_name), ".eh_frame"))
			continue;
		library->entries = elf_getdata(section, NULL);
		library->address = header.sh_addr;
	}
	assert_non_null(library->entries);
}

static struct library open_library(const char *name)
{
	void *handle = dlopen(name, RTLD_LAZY);
	struct library library = { 0 };
	struct link_map *map;
	GElf_Ehdr header;

	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	library.descriptor = open(map->l_name, O_RDONLY);
	assert_true(library.descriptor >= 0);
	dlclose(handle);
	elf_version(EV_CURRENT);
	library.elf = elf_begin(library.descriptor, ELF_C_READ_MMAP, NULL);
	library.cfi = library.elf ? dwarf_getcfi_elf(library.elf) : NULL;
	assert_non_null(library.cfi);
	gelf_getehdr(library.elf, &header);
	memcpy(library.ident, header.e_ident, sizeof(library.ident));
	find_entries(&library);
	return library;
}

static void close_library(struct library *library)
{
	dwarf_cfi_end(library->cfi);
	elf_end(library->elf);
	close(library->descriptor);
}

static int is_counted_from(const Dwarf_Op *op, const struct rule *rule)
{
	if (op->atom == DW_OP_bregx)
		return rule->how == IN && rule->number == op->number &&
			rule->offset == (int64_t)op->number2;
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return rule->how == IN && rule->number == op->atom - (unsigned)DW_OP_breg0 &&
			rule->offset == (int64_t)op->number;
	return rule->how == IS_EXPRESSION;
}

/* libdw gives a column as some operations, which stand for one of the kinds of rules. */
static int is_same(Dwarf_Frame *frame, int column, const struct rule *rule)
{
	Dwarf_Op memory[3], *ops;
	int64_t offset = 0;
	size_t count;
	int is_value;

	assert_int_equal(dwarf_frame_register(frame, column, memory, &ops, &count), 0);
	if (!count) /* libdw knows which registers a call keeps */
		return rule->how == SAME || (ops && rule->how == UNDEFINED);
	is_value = ops[count - 1].atom == DW_OP_stack_value;
	count -= (size_t)is_value;
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return rule->how == IN || rule->how == AT_EXPRESSION || rule->how == IS_EXPRESSION;
	if (count > 2 || (count == 2 && ops[1].atom != DW_OP_plus_uconst))
		return rule->how == AT_EXPRESSION || rule->how == IS_EXPRESSION;
	if (count == 2)
		offset = (int64_t)ops[1].number;
	return rule->how == (is_value ? IS : AT) && rule->offset == offset;
}

static void compare_row(Dwarf_Frame *frame, const struct frame_rules *rules)
{
	Dwarf_Op *ops;
	size_t count;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (count == 1)
		assert_true(is_counted_from(ops, &rules->frame));
	else
		assert_int_equal(rules->frame.how, IS_EXPRESSION);
	for (int column = 0; column < RULES_COLUMNS; column++)
		if (column != STACK_POINTER)
			assert_true(is_same(frame, column, &rules->of[column]));
}

/* Rows of the function that an entry describes; how many. */
static int compare_entry(const struct library *library, Dwarf_Off offset, const uint8_t *addresses)
{
	const uint8_t *base = library->entries->d_buf;
	struct frame_rules_space space;
	Dwarf_Addr start, at, from, end;
	Dwarf_Frame *frame;
	uint32_t bytes;
	int32_t distance;
	int rows = 0;
	bool is_signal;

	/* Linkers write them so on x86-64: from here, in four bytes. */
	memcpy(&distance, addresses, sizeof(distance));
	memcpy(&bytes, addresses + sizeof(distance), sizeof(bytes));
	start = library->address + (Dwarf_Addr)(addresses - base) + (Dwarf_Addr)(int64_t)distance;
	for (at = start; at < start + bytes; at = end, rows++) {
		if (dwarf_cfi_addrframe(library->cfi, at, &frame))
			return rows;
		assert_true(dwarf_frame_info(frame, &from, &end, &is_signal) >= 0);
		assert_int_equal(frame_rules_find(&space, base + offset, at - start), 0);
		assert_int_equal(space.rules.is_signal, is_signal);
		compare_row(frame, &space.rules);
		free(frame);
	}
	return rows;
}

static int compare(const char *name)
{
	struct library library = open_library(name);
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	int rows = 0;

	for (; !dwarf_next_cfi(library.ident, library.entries, true, offset, &next, &entry);
		offset = next)
		if (!dwarf_cfi_cie_p(&entry))
			rows += compare_entry(&library, offset, entry.fde.start);
	close_library(&library);
	return rows;
}

TEST(rows_are_what_libdw_reads)
{
	assert_true(compare("libc.so.6") > 1000);
	assert_true(compare("libm.so.6") > 100);
	assert_true(compare("libgcc_s.so.1") > 100);
	assert_true(compare("libstdc++.so.6") > 1000);
}

/* An entry of a version or with words that are not known is no guess. */
TEST(what_is_not_understood_is_said)
{
	static const uint8_t unknown[]
		__attribute__((aligned(8))) = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 'q', 0, 1, 0x78, 16,
			0x0c, 7, 8, 0, 0, 0, 12, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0 };
	static uint8_t instruction[] __attribute__((aligned(8))) = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 0,
		1, 0x78, 16, 0x0c, 7, 8, 0x3e, 0, 0, 0, 20, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 16, 0, 0, 0, 0, 0, 0, 0 };
	struct frame_rules_space space;

	assert_int_equal(frame_rules_find(&space, unknown + 20, 0), -1);
	assert_int_equal(frame_rules_find(&space, instruction + 20, 0), -1);
	instruction[16] = 0; /* nop */
	assert_int_equal(frame_rules_find(&space, instruction + 20, 0), 0);
	assert_int_equal(space.rules.frame.offset, 8);
}
