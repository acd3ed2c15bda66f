/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "parts.h"

int image_fail(char error[IMAGE_ERROR_SIZE], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, IMAGE_ERROR_SIZE, format, arguments);
	va_end(arguments);
	return -1;
}

static int has_magic(const void *data, size_t size, uint32_t magic)
{
	uint32_t found;

	if (size < sizeof(found))
		return 0;
	memcpy(&found, data, sizeof(found));
	return found == magic;
}

static int is_elf(const void *data, size_t size)
{
	return size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0;
}

/* A PTX module starts with ".version"; comments and white space may come before it. */
static int is_ptx(const void *data, size_t size)
{
	static const char version[] = ".version", first[] = "./ \t\r\n";

	return memmem(data, size, version, sizeof(version) - 1) != NULL &&
		memchr(first, *(const char *)data, sizeof(first) - 1) != NULL;
}

static int read_single(enum image_kind kind, const void *data, size_t size, struct image *image,
	char error[IMAGE_ERROR_SIZE])
{
	image->code = calloc(1, sizeof(*image->code));
	if (!image->code)
		return image_fail(error, "out of memory");
	image->count = 1;
	image->code->kind = kind;
	image->code->data = data;
	image->code->size = kind == IMAGE_PTX ? strnlen(data, size) : size;
	return kind == IMAGE_CUBIN ? cubin_read(image->code, error) : 0;
}

static int read_kinds(const void *data, size_t size, struct image *image, int only_ptx,
	char error[IMAGE_ERROR_SIZE])
{
	int result;

	memset(image, 0, sizeof(*image));
	if (has_magic(data, size, FATBIN_CONTAINER_MAGIC))
		result = fatbin_read(data, size, image, only_ptx, error);
	else if (is_elf(data, size) && only_ptx)
		result = 0;
	else if (is_elf(data, size))
		result = read_single(IMAGE_CUBIN, data, size, image, error);
	else if (is_ptx(data, size))
		result = read_single(IMAGE_PTX, data, size, image, error);
	else
		result = image_fail(error, "neither a fat binary nor a cubin nor PTX");
	if (result)
		image_release(image);
	return result;
}

int image_read(const void *data, size_t size, struct image *image, char error[IMAGE_ERROR_SIZE])
{
	return read_kinds(data, size, image, 0, error);
}

int image_read_ptx(const void *data, size_t size, struct image *image, char error[IMAGE_ERROR_SIZE])
{
	return read_kinds(data, size, image, 1, error);
}

/* Bytes up to the last thing that an ELF header and its section headers name. */
static size_t elf_extent(const void *data)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	size_t end, programs;

	memcpy(&header, data, sizeof(header));
	end = header.e_shoff + (size_t)header.e_shnum * sizeof(section);
	programs = header.e_phoff + (size_t)header.e_phnum * sizeof(Elf64_Phdr);
	if (programs > end)
		end = programs;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		memcpy(&section, (const char *)data + header.e_shoff + i * sizeof(section),
			sizeof(section));
		if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
			end = section.sh_offset + section.sh_size;
	}
	return end;
}

int image_read_loaded(const void *data, struct image *image, char error[IMAGE_ERROR_SIZE])
{
	struct fatbin_header header;
	struct {
		uint32_t magic, version;
		const void *container;
		void *more;
	} wrapper;

	memset(image, 0, sizeof(*image));
	if (has_magic(data, sizeof(uint32_t), FATBIN_WRAPPER_MAGIC)) {
		memcpy(&wrapper, data, sizeof(wrapper));
		data = wrapper.container;
		if (!data || !has_magic(data, sizeof(uint32_t), FATBIN_CONTAINER_MAGIC))
			return image_fail(error, "the wrapper does not point to a container");
	}
	if (has_magic(data, sizeof(uint32_t), FATBIN_CONTAINER_MAGIC)) {
		memcpy(&header, data, sizeof(header));
		if (header.size > SIZE_MAX - header.header_size)
			return image_fail(error, "impossible size in the container's header");
		return image_read(data, header.header_size + header.size, image, error);
	}
	if (is_elf(data, SELFMAG))
		return image_read(data, elf_extent(data), image, error);
	return image_read(data, strlen(data), image, error);
}

const struct image_kernel *image_find_kernel(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image->count; i++) {
		const struct image_kernel *kernel = cubin_find(&image->code[i], name);

		if (kernel && kernel->described)
			return kernel;
	}
	return NULL;
}

void image_release(struct image *image)
{
	for (size_t i = 0; i < image->count; i++) {
		cubin_release(&image->code[i]);
		free(image->code[i].unpacked);
	}
	free(image->code);
	memset(image, 0, sizeof(*image));
}
