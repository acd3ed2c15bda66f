/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the containers in .nv_fatbin, and in __nv_relfatbin for linked relocatable device code. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image_internal.h"

int image_open(const char *path, uint64_t *size, char error[IMAGE_ERROR_SIZE])
{
	struct stat status;
	int descriptor;

	/* Opening a device may have side effects, and opening a pipe may block. */
	if (!stat(path, &status) && !S_ISREG(status.st_mode))
		return image_fail(error, "'%s' is no regular file", path);
	descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (descriptor < 0)
		return image_fail(error, "cannot open '%s': %s", path, strerror(errno));
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode) || status.st_size == 0) {
		close(descriptor);
		return image_fail(error, "'%s' is no file with anything in it", path);
	}
	*size = (uint64_t)status.st_size;
	return descriptor;
}

static int map_file(struct image_file *file, const char *path, char error[IMAGE_ERROR_SIZE])
{
	uint64_t size;
	int descriptor = image_open(path, &size, error);

	if (descriptor < 0)
		return -1;
	file->size = (size_t)size;
	file->base = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	close(descriptor);
	if (file->base != MAP_FAILED)
		return 0;
	file->base = NULL;
	return image_fail(error, "cannot map '%s': %s", path, strerror(errno));
}

static int add_container(struct image_file *file, const void *data, size_t size)
{
	struct image_span *grown =
		realloc(file->container, (file->count + 1) * sizeof(*file->container));

	if (!grown)
		return -1;
	file->container = grown;
	grown[file->count++] = (struct image_span){ data, size };
	return 0;
}

/* Containers are consecutive and aligned to 8 bytes; the linker may add padding between them. */
static int scan_section(struct image_file *file, const uint8_t *data, size_t size,
	char error[IMAGE_ERROR_SIZE])
{
	uint32_t magic;
	size_t total;

	for (size_t at = 0; at < size && size - at >= sizeof(struct fatbin_header); at += total) {
		total = 8;
		memcpy(&magic, data + at, sizeof(magic));
		if (magic != FATBIN_CONTAINER_MAGIC)
			continue;
		if (fatbin_size(data + at, size - at, &total, error))
			return -1;
		if (add_container(file, data + at, total))
			return image_fail(error, "out of memory");
		total = (total + 7) & ~(size_t)7;
	}
	return 0;
}

static int is_fatbin_section(const char *name)
{
	return name && (strcmp(name, ".nv_fatbin") == 0 || strcmp(name, "__nv_relfatbin") == 0);
}

static int scan_elf(struct image_file *file, Elf *elf, char error[IMAGE_ERROR_SIZE])
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names))
		return image_fail(error, "not an executable or library");
	while ((section = elf_nextscn(elf, section)) != NULL) {
		if (!gelf_getshdr(section, &header))
			return image_fail(error, "section header: %s", elf_errmsg(-1));
		if (header.sh_type == SHT_NOBITS ||
			!is_fatbin_section(elf_strptr(elf, names, header.sh_name)))
			continue;
		if (header.sh_offset > file->size || header.sh_size > file->size - header.sh_offset)
			return image_fail(error, "a section reaches beyond the file");
		if (scan_section(file, (const uint8_t *)file->base + header.sh_offset,
			    header.sh_size, error))
			return -1;
	}
	return 0;
}

int image_file_open(struct image_file *file, const char *path, char error[IMAGE_ERROR_SIZE])
{
	Elf *elf;
	int result;

	memset(file, 0, sizeof(*file));
	if (map_file(file, path, error))
		return -1;
	elf_version(EV_CURRENT);
	elf = elf_memory(file->base, file->size);
	result = elf ? scan_elf(file, elf, error)
		     : image_fail(error, "'%s' is no ELF file: %s", path, elf_errmsg(-1));
	elf_end(elf);
	if (result)
		image_file_close(file);
	return result;
}

void image_file_close(struct image_file *file)
{
	if (file->base)
		munmap(file->base, file->size);
	free(file->container);
	memset(file, 0, sizeof(*file));
}
