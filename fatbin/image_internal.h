/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of fatbin/ only; image.h has the rules. */
#ifndef CUFENCE_IMAGE_INTERNAL_H
#define CUFENCE_IMAGE_INTERNAL_H

#include <string.h>

#include "image.h"

#define FATBIN_CONTAINER_MAGIC 0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u

struct fatbin_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_size;
	uint64_t size; /* of the entries after this header */
};

/*
 * Checks a container's header and returns the container's size, with the header, in *total.
 * Returns 0 or -1.
 */
int fatbin_size(const void *data, size_t size, size_t *total, char error[IMAGE_ERROR_SIZE]);

/* Copies bytes of an image.  Returns 0, or -1 if they are outside of it. */
int image_copy(const struct image_bytes *bytes, uint64_t at, void *to, size_t size);

/* Adds an entry to a list of *count entries.  Returns 0 or -1. */
int image_add_entry(struct image_entry **list, long *count, const struct image_entry *entry,
	char error[IMAGE_ERROR_SIZE]);

/* Like image_list(), for a container; after -1 a list may remain. */
int fatbin_list(const struct image_bytes *bytes, struct image_entry **list, long *count,
	char error[IMAGE_ERROR_SIZE]);

/* Unpacks the bytes of an entry: sets code->data, size and unpacked, also on -1. */
int fatbin_unpack(const struct image_entry *entry, const void *packed, struct image_code *code,
	char error[IMAGE_ERROR_SIZE]);

/* Fills kernel[] and, if it is 0, arch from code->data; on -1 some kernels remain. */
int cubin_read(struct image_code *code, char error[IMAGE_ERROR_SIZE]);
void cubin_release(struct image_code *code);
struct image_kernel *cubin_find(const struct image_code *code, const char *name);

#endif
