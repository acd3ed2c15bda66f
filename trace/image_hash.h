/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash that names and verifies a code image, in records and as its file name beside the trace.
 * It detects damaged and replaced files; it does not protect against deliberate forgery.
 */
#ifndef CUFENCE_IMAGE_HASH_H
#define CUFENCE_IMAGE_HASH_H

#include <stdint.h>
#include <string.h>

/* The folder beside a trace; an image in it is named by sixteen hexadecimal digits. */
#define IMAGE_FOLDER "cufence.images"
#define IMAGE_NAME_SIZE 17
static inline void image_name(uint64_t hash, char name[IMAGE_NAME_SIZE])
{
	for (int i = 0; i < IMAGE_NAME_SIZE - 1; i++)
		name[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
	name[IMAGE_NAME_SIZE - 1] = '\0';
}

/* Largest image that the recorder stores: cuBLAS unpacks kernels to over 8 MiB. */
#define IMAGE_MOST_BYTES (48u << 20)

/* Bytes compared at most for an image that lies in a file: image_file_record.start. */
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
