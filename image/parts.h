/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of image/ share and nobody else needs: see image.h for the rules. */
#ifndef CUFENCE_IMAGE_PARTS_H
#define CUFENCE_IMAGE_PARTS_H

#include <string.h>

#include "image.h"

#define FATBIN_CONTAINER_MAGIC 0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u

struct fatbin_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_size;
	uint64_t size;             /* of the entries after this header */
};

/* Always -1, so that a check and its message are one statement. */
int image_fail(char error[IMAGE_ERROR_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Checks a container's header and gives the bytes it covers, itself included; 0 or -1. */
int fatbin_size(const void *data, size_t size, size_t *total, char error[IMAGE_ERROR_SIZE]);

/* Adds a code for every PTX of a container and, unless only_ptx, cubin; on -1 some remain. */
int fatbin_read(const void *data, size_t size, struct image *image, int only_ptx,
	char error[IMAGE_ERROR_SIZE]);

/* Fills kernel[] and, where it is 0, arch from code->data; on -1 some kernels remain. */
int cubin_read(struct image_code *code, char error[IMAGE_ERROR_SIZE]);
void cubin_release(struct image_code *code);
struct image_kernel *cubin_find(const struct image_code *code, const char *name);

#endif
