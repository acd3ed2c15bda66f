/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fat binary container: a header, then entries with a header and a payload each.  Derived from
 * the output of nvcc 13 with every --compress-mode; entries of unknown kinds are skipped.
 */
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include "image_internal.h"

enum entry_flag {
	ENTRY_LZ4 = 0x2000,
	ENTRY_ZSTD = 0x8000,
};

struct entry_header {
	uint16_t kind; /* enum image_kind */
	uint16_t version;
	uint32_t header_size; /* offset of the payload */
	uint64_t size;        /* of the payload, including padding */
	uint32_t packed_size; /* without padding; 0: not compressed */
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

/*
 * Limit of what damaged data can make us allocate; cubins are much smaller.  The file counts as
 * damaged beyond it, and its kernels as code_missing.
 */
#define UNPACKED_LIMIT (1u << 30)

static int check(const struct fatbin_header *header, uint64_t size, size_t *total,
	char error[IMAGE_ERROR_SIZE])
{
	if (header->magic != FATBIN_CONTAINER_MAGIC || header->version != 1 ||
		header->header_size < sizeof(*header) || header->header_size > size)
		return image_fail(error, "not a container of version 1");
	if (header->size > size - header->header_size)
		return image_fail(error, "container cut short: has %llu of %llu bytes",
			(unsigned long long)(size - header->header_size),
			(unsigned long long)header->size);
	*total = header->header_size + header->size;
	return 0;
}

int fatbin_size(const void *data, size_t size, size_t *total, char error[IMAGE_ERROR_SIZE])
{
	struct fatbin_header header;

	if (size < sizeof(header))
		return image_fail(error, "container cut short: %zu bytes", size);
	memcpy(&header, data, sizeof(header));
	return check(&header, size, total, error);
}

int fatbin_unpack(const struct image_entry *entry, const void *packed, struct image_code *code,
	char error[IMAGE_ERROR_SIZE])
{
	size_t got;

	code->unpacked = malloc(entry->unpacked);
	if (!code->unpacked)
		return image_fail(error, "out of memory for an entry of %llu bytes",
			(unsigned long long)entry->unpacked);
	if (entry->packing & ENTRY_ZSTD) {
		got = ZSTD_decompress(code->unpacked, entry->unpacked, packed, entry->size);
	} else {
		int written = LZ4_decompress_safe(packed, code->unpacked, (int)entry->size,
			(int)entry->unpacked);

		got = written < 0 ? SIZE_MAX : (size_t)written;
	}
	/* A ZSTD error code is a size, too, far above any limit. */
	if (got != entry->unpacked)
		return image_fail(error, "a compressed entry is damaged");
	code->data = code->unpacked;
	code->size = got;
	return 0;
}

static int add(const struct entry_header *header, uint64_t payload, struct image_entry **list,
	long *count, char error[IMAGE_ERROR_SIZE])
{
	struct image_entry entry = {
		.kind = header->kind,
		.arch = header->arch,
		.offset = payload,
		.packing = (uint32_t)header->flags & (ENTRY_LZ4 | ENTRY_ZSTD),
		.size = header->size,
		.unpacked = header->size,
	};

	if (header->kind != IMAGE_PTX && header->kind != IMAGE_CUBIN)
		return 0;
	if (entry.packing) {
		entry.size = header->packed_size;
		entry.unpacked = header->unpacked_size;
		if (entry.size > header->size || entry.unpacked == 0 ||
			entry.unpacked > UNPACKED_LIMIT || entry.size > UNPACKED_LIMIT)
			return image_fail(error, "impossible size in a compressed entry");
	}
	return image_add_entry(list, count, &entry, error);
}

int fatbin_list(const struct image_bytes *bytes, struct image_entry **list, long *count,
	char error[IMAGE_ERROR_SIZE])
{
	struct fatbin_header header;
	struct entry_header entry;
	size_t left = 0;
	uint64_t at;

	if (image_copy(bytes, 0, &header, sizeof(header)))
		return image_fail(error, "container cut short: %llu bytes",
			(unsigned long long)bytes->size);
	if (check(&header, bytes->size, &left, error))
		return -1;
	at = header.header_size;
	for (left -= at; left > 0; left -= entry.header_size + entry.size) {
		if (left < sizeof(entry) || image_copy(bytes, at, &entry, sizeof(entry)))
			return image_fail(error, "%zu bytes left where an entry begins", left);
		if (entry.header_size < sizeof(entry) || entry.header_size > left ||
			entry.size > left - entry.header_size)
			return image_fail(error, "an entry reaches beyond its container");
		if (add(&entry, at + entry.header_size, list, count, error))
			return -1;
		at += entry.header_size + entry.size;
	}
	return 0;
}
