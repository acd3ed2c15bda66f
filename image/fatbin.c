/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fat binary container: a header, then entries of a header and a payload each.  Measured on
 * the output of nvcc 13 with every --compress-mode; entries of unknown kinds are skipped.
 */
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include "parts.h"

enum entry_flag {
	ENTRY_LZ4 = 0x2000,
	ENTRY_ZSTD = 0x8000,
};

struct entry_header {
	uint16_t kind;             /* enum image_kind */
	uint16_t version;
	uint32_t header_size;      /* offset of the payload */
	uint64_t size;             /* of the payload, padding included */
	uint32_t packed_size;      /* without the padding; 0 when not compressed */
	uint32_t options;
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name_offset, name_length;
	uint64_t flags;
	uint64_t reserved;
	uint64_t unpacked_size;
};

/* The smallest header: nvcc writes 64 bytes for cubins and 80 for PTX. */
#define ENTRY_HEADER_SIZE 64
_Static_assert(sizeof(struct entry_header) == ENTRY_HEADER_SIZE, "entry header");

/* No cubin comes near it; it bounds what a few damaged bytes can make us allocate. */
#define UNPACKED_LIMIT (1u << 30)

int fatbin_size(const void *data, size_t size, size_t *total, char error[IMAGE_ERROR_SIZE])
{
	struct fatbin_header header;

	if (size < sizeof(header))
		return image_fail(error, "container cut short: %zu bytes", size);
	memcpy(&header, data, sizeof(header));
	if (header.magic != FATBIN_CONTAINER_MAGIC || header.version != 1 ||
	    header.header_size < sizeof(header) || header.header_size > size)
		return image_fail(error, "not a container of version 1");
	if (header.size > size - header.header_size)
		return image_fail(error, "container cut short: has %zu of %llu bytes",
			size - header.header_size, (unsigned long long)header.size);
	*total = header.header_size + header.size;
	return 0;
}

/* Decompresses a payload of entry->packed_size bytes, exactly unpacked_size are expected. */
static int unpack(const struct entry_header *entry, const void *payload, struct image_code *code,
	char error[IMAGE_ERROR_SIZE])
{
	size_t got;

	if (entry->packed_size > entry->size || entry->unpacked_size == 0 ||
	    entry->unpacked_size > UNPACKED_LIMIT || entry->packed_size > UNPACKED_LIMIT)
		return image_fail(error, "impossible size in a compressed entry");
	code->unpacked = malloc(entry->unpacked_size);
	if (!code->unpacked)
		return image_fail(error, "out of memory for an entry of %llu bytes",
			(unsigned long long)entry->unpacked_size);
	if (entry->flags & ENTRY_ZSTD) {
		got = ZSTD_decompress(
			code->unpacked, entry->unpacked_size, payload, entry->packed_size);
	} else {
		int written = LZ4_decompress_safe(payload, code->unpacked,
			(int)entry->packed_size, (int)entry->unpacked_size);

		got = written < 0 ? SIZE_MAX : (size_t)written;
	}
	/* A ZSTD error code is a size too, far above any limit. */
	if (got != entry->unpacked_size)
		return image_fail(error, "a compressed entry is damaged");
	code->data = code->unpacked;
	code->size = got;
	return 0;
}

static struct image_code *add_code(struct image *image)
{
	struct image_code *grown =
		realloc(image->code, (image->count + 1) * sizeof(*image->code));

	if (!grown)
		return NULL;
	image->code = grown;
	memset(&grown[image->count], 0, sizeof(*grown));
	return &grown[image->count++];
}

static int read_entry(const struct entry_header *entry, const void *payload, struct image *image,
	int only_ptx, char error[IMAGE_ERROR_SIZE])
{
	struct image_code *code;

	if (entry->kind != IMAGE_PTX && (entry->kind != IMAGE_CUBIN || only_ptx))
		return 0;
	code = add_code(image);
	if (!code)
		return image_fail(error, "out of memory");
	code->kind = entry->kind;
	code->arch = entry->arch;
	code->data = payload;
	code->size = entry->size;
	if ((entry->flags & (ENTRY_LZ4 | ENTRY_ZSTD)) && unpack(entry, payload, code, error))
		return -1;
	if (code->kind == IMAGE_CUBIN)
		return cubin_read(code, error);
	code->size = strnlen(code->data, code->size);
	return 0;
}

int fatbin_read(const void *data, size_t size, struct image *image, int only_ptx,
	char error[IMAGE_ERROR_SIZE])
{
	struct fatbin_header header;
	struct entry_header entry;
	const char *position;
	size_t left;

	if (fatbin_size(data, size, &left, error))
		return -1;
	memcpy(&header, data, sizeof(header));
	position = (const char *)data + header.header_size;
	left -= header.header_size;
	while (left > 0) {
		if (left < sizeof(entry))
			return image_fail(error, "%zu bytes left where an entry begins", left);
		memcpy(&entry, position, sizeof(entry));
		if (entry.header_size < sizeof(entry) || entry.header_size > left ||
		    entry.size > left - entry.header_size)
			return image_fail(error, "an entry reaches beyond its container");
		if (read_entry(&entry, position + entry.header_size, image, only_ptx, error))
			return -1;
		position += entry.header_size + entry.size;
		left -= entry.header_size + entry.size;
	}
	return 0;
}
