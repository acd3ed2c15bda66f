/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files that a trace names, and those with their debug information.  Only regular files are
 * opened, without waiting: a trace may name a pipe or a device.  Nothing is fetched over a network.
 */
#ifndef CUFENCE_SYMBOLS_OPEN_H
#define CUFENCE_SYMBOLS_OPEN_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdint.h>

/* NULL elf: not open. */
struct elf_file {
	int descriptor;
	Elf *elf;
	uint64_t size; /* bytes */
	char *path;
};

#define BUILD_ID_SIZE 129 /* hexadecimal, of at most 64 bytes */

/* Identifies the file with the debug information of another. */
struct debug_link {
	char build_id[BUILD_ID_SIZE]; /* "": the file has none */
	char name[256];               /* of the debug file, "": only by the build id */
	uint32_t crc;                 /* of that file; counts where there is no build id */
};

/* 0, or -1 if it is no ELF file that can be read; then there is nothing to close. */
int elf_file_open(struct elf_file *file, const char *path);
void elf_file_close(struct elf_file *file);

/* A section that has the debug information, or the name of the file that has it. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name);

/* Reads from the file where its debug information is. */
void debug_link_read(struct debug_link *link, const struct elf_file *file);

/* The file with the debug information of the one at path: 0, or -1 if there is none that fits. */
int debug_file_open(struct elf_file *file, const char *path, const struct debug_link *link);

/* The part that several debug files share (dwz), by its name in one of them and its build id. */
int shared_debug_open(struct elf_file *file, const struct elf_file *debug, const char *name,
	const unsigned char *id, size_t id_size);

/* Changes when the file at path does, or one that its debug information is looked for in. */
uint64_t debug_stamp(const char *path, const struct debug_link *link);

/* NULL: none, or one that would take far more memory than the file is large. */
Dwarf *debug_begin(const struct elf_file *file);

#endif
