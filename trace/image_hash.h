/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash by which a code image is named and checked: in records, and as the name of the file it
 * has beside the trace.  It finds damage and files that were replaced; it is no defence against
 * somebody who may write to them.
 */
#ifndef CUFENCE_IMAGE_HASH_H
#define CUFENCE_IMAGE_HASH_H

#include <stdint.h>
#include <string.h>

/* The folder beside a trace, and the name of an image in it: sixteen hexadecimal digits. */
#define IMAGE_FOLDER "cufence.images"
#define IMAGE_NAME_SIZE 17
static inline void image_name(uint64_t hash, char name[IMAGE_NAME_SIZE])
{
	for (int i = 0; i < IMAGE_NAME_SIZE - 1; i++)
		name[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
	name[IMAGE_NAME_SIZE - 1] = '\0';
}

/* The recorder's limit for an image that it stores: cuBLAS unpacks kernels to over 8 MiB. */
#define IMAGE_MOST_BYTES (48u << 20)

/* Of an image that lies in a file so many bytes at most are compared: image_file_record.start. */
#define IMAGE_START_BYTES 4096

/* Never 0. */
static inline uint64_t image_hash(const void *bytes, uint64_t size)
{
	uint64_t hash = size, word;

	for (uint64_t at = 0; at < size; at += sizeof(word)) {
		word = 0;
		memcpy(&word, (const char *)bytes + at,
			size - at < sizeof(word) ? size - at : sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash ? hash : 1;
}

#endif
