/* SPDX-License-Identifier: Apache-2.0 */
/* Tells from an executable file whether and how a library can be preloaded into it. */
#include <gelf.h>
#include <string.h>

#include "run.h"

/* Those that the recorder beside this program is for. */
#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#define MACHINE_NAME "AArch64"
#else
#define MACHINE EM_X86_64
#define MACHINE_NAME "x86-64"
#endif

/* Part of the name of a shared memory segment that every NVIDIA cudart opens, even stripped. */
static const char cudart_mark[] = "/cudart.shm.";
/* The library that a program opens to call the driver without cudart. */
static const char driver_mark[] = "libcuda.so";

static int contains(const void *bytes, size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text)) != NULL;
}

/* The dynamic loader that the program requests; NULL: none. */
static const char *loader_of(Elf *elf, const char *bytes, size_t size)
{
	GElf_Phdr segment;
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
		if (segment.p_type == PT_INTERP && segment.p_offset < size &&
			memchr(bytes + segment.p_offset, '\0', size - segment.p_offset))
			return bytes + segment.p_offset;
	return NULL;
}

int run_is_sanitizer(const char *name)
{
	return !strncmp(name, "libasan.so", 10) || !strncmp(name, "libclang_rt.asan", 16);
}

static void note_dynamic(struct program *program, const GElf_Dyn *entry, const char *text)
{
	if (entry->d_tag == DT_SONAME)
		program->is_library = 1;
	if (entry->d_tag == DT_NEEDED && text && run_is_sanitizer(text) && !program->sanitizer)
		program->sanitizer = strdup(text);
}

static void read_dynamic(struct program *program, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn entry;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry); i++)
			note_dynamic(program, &entry,
				elf_strptr(elf, header.sh_link, entry.d_un.d_val));
	}
}

/*
 * A static program without CUDA may still start programs that use it: a launcher.  The loader is a
 * static program too, but it obeys LD_PRELOAD.
 */
static void judge_loader(struct program *program, const char *loader, int uses_cuda)
{
	if (loader && strstr(loader, "ld-musl")) {
		program->obstacle =
			"it is for musl, where neither CUDA nor the recorder can be loaded";
		program->hint = "run a program for glibc";
	} else if (!loader && !program->is_library) {
		program->is_static = 1;
		if (uses_cuda) {
			program->obstacle =
				"it is linked statically, so that nothing can be "
				"preloaded "
				"into it";
			program->hint = "link it dynamically (without -static or -static-pie)";
		}
	}
}

void program_inspect_elf(struct program *program, void *bytes, size_t size)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_memory(bytes, size);
	GElf_Ehdr header;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		goto out;
	program->is_elf = 1;
	program->has_static_cudart = contains(bytes, size, cudart_mark);
	if (gelf_getclass(elf) != ELFCLASS64 || header.e_machine != MACHINE) {
		program->obstacle = "it is not a 64-bit " MACHINE_NAME
				    " program, which is what the recorder is for";
		program->hint = "build it for " MACHINE_NAME;
		goto out;
	}
	read_dynamic(program, elf);
	judge_loader(program, loader_of(elf, bytes, size),
		program->has_static_cudart || contains(bytes, size, driver_mark));
out:
	elf_end(elf);
}
