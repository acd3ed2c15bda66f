/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "image_internal.h"

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

/* A PTX module starts with ".version", after optional comments and white space. */
static int is_ptx(const void *data, size_t size)
{
	static const char version[] = ".version", first[] = "./ \t\r\n";

	return memmem(data, size, version, sizeof(version) - 1) != NULL &&
		memchr(first, *(const char *)data, sizeof(first) - 1) != NULL;
}

int image_copy(const struct image_bytes *bytes, uint64_t at, void *to, size_t size)
{
	if (at > bytes->size || size > bytes->size - at)
		return -1;
	if (bytes->file < 0) {
		memcpy(to, (const char *)bytes->data + at, size);
		return 0;
	}
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(bytes->file, (char *)to + done, size - done,
			(off_t)(bytes->offset + at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

int image_add_entry(struct image_entry **list, long *count, const struct image_entry *entry,
	char error[IMAGE_ERROR_SIZE])
{
	struct image_entry *grown = realloc(*list, ((size_t)*count + 1) * sizeof(*grown));

	if (!grown)
		return image_fail(error, "out of memory");
	*list = grown;
	grown[(*count)++] = *entry;
	return 0;
}

static int list_kinds(const struct image_bytes *bytes, struct image_entry **list, long *count,
	char error[IMAGE_ERROR_SIZE])
{
	struct image_entry entry = { .kind = IMAGE_CUBIN,
		.size = bytes->size,
		.unpacked = bytes->size };
	char first[SELFMAG] = "";

	image_copy(bytes, 0, first, bytes->size < SELFMAG ? (size_t)bytes->size : SELFMAG);
	if (has_magic(first, sizeof(first), FATBIN_CONTAINER_MAGIC))
		return fatbin_list(bytes, list, count, error);
	if (!is_elf(first, sizeof(first))) {
		if (bytes->file >= 0 || !is_ptx(bytes->data, bytes->size))
			return image_fail(error, "neither a fat binary nor a cubin nor PTX");
		entry.kind = IMAGE_PTX;
	}
	return image_add_entry(list, count, &entry, error);
}

long image_list(const struct image_bytes *bytes, struct image_entry **list,
	char error[IMAGE_ERROR_SIZE])
{
	long count = 0;

	*list = NULL;
	if (!list_kinds(bytes, list, &count, error))
		return count;
	free(*list);
	*list = NULL;
	return -1;
}

static int spend(struct image_budget *budget, uint64_t bytes, char error[IMAGE_ERROR_SIZE])
{
	if (bytes <= budget->left && bytes <= budget->most) {
		budget->left -= bytes;
		return 0;
	}
	budget->reached = 1;
	return image_fail(error, "an entry of %llu bytes is more than may be read",
		(unsigned long long)bytes);
}

/* data: the entry's bytes, not decompressed. */
static int read_code(const struct image_entry *entry, const void *data, struct image_code *code,
	char error[IMAGE_ERROR_SIZE])
{
	code->kind = entry->kind;
	code->arch = entry->arch;
	code->data = data;
	code->size = entry->size;
	if (entry->packing && fatbin_unpack(entry, data, code, error))
		return -1;
	if (code->kind == IMAGE_CUBIN)
		return cubin_read(code, error);
	code->size = strnlen(code->data, code->size);
	return 0;
}

/* Copies bytes from a file; code->unpacked owns the copy. */
static int read_copy(const struct image_bytes *bytes, const struct image_entry *entry,
	struct image_code *code, char error[IMAGE_ERROR_SIZE])
{
	void *copy = malloc(entry->size ? entry->size : 1);
	int rc;

	if (!copy)
		return image_fail(error, "out of memory for %llu bytes",
			(unsigned long long)entry->size);
	rc = image_copy(bytes, entry->offset, copy, entry->size)
		? image_fail(error, "cannot read an entry")
		: read_code(entry, copy, code, error);
	if (code->unpacked || rc)
		free(copy);
	else
		code->unpacked = copy;
	return rc;
}

int image_read_entry(const struct image_bytes *bytes, const struct image_entry *entry,
	struct image_budget *budget, struct image *image, char error[IMAGE_ERROR_SIZE])
{
	int rc;

	memset(image, 0, sizeof(*image));
	if (spend(budget, entry->unpacked, error))
		return -1;
	image->code = calloc(1, sizeof(*image->code));
	if (!image->code)
		return image_fail(error, "out of memory");
	image->count = 1;
	rc = bytes->file >= 0
		? read_copy(bytes, entry, image->code, error)
		: read_code(entry, (const char *)bytes->data + entry->offset, image->code, error);
	if (rc)
		image_release(image);
	return rc;
}

int image_read(const void *data, size_t size, struct image *image, char error[IMAGE_ERROR_SIZE])
{
	struct image_bytes bytes = { .data = data, .file = -1, .size = size };
	struct image_entry *list;
	long count = image_list(&bytes, &list, error);
	int rc = count < 0 ? -1 : 0;

	memset(image, 0, sizeof(*image));
	if (count > 0) {
		image->code = calloc((size_t)count, sizeof(*image->code));
		if (!image->code)
			rc = image_fail(error, "out of memory");
	}
	for (long i = 0; i < count && !rc; i++) {
		image->count++;
		rc = read_code(&list[i], (const char *)data + list[i].offset, &image->code[i],
			error);
	}
	free(list);
	if (rc)
		image_release(image);
	return rc;
}

/* Returns the end of the last part that an ELF header and its section headers name, bytes. */
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
