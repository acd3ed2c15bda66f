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

/* A step of the hash: order counts. */
static inline uint64_t image_hash_step(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/*
 * One step waits for the one before: 0.28 ms a MiB.  Traces before format 1.5 have it for all
 * images, later ones for names and what is at most IMAGE_START_BYTES.  Never 0.
 */
static inline uint64_t image_hash_in_turn(const void *bytes, uint64_t size)
{
	uint64_t hash = size, word;

	for (uint64_t at = 0; at < size; at += sizeof(word)) {
		word = 0;
		memcpy(&word, (const char *)bytes + at,
			size - at < sizeof(word) ? size - at : sizeof(word));
		hash = image_hash_step(hash, word);
	}
	return hash ? hash : 1;
}

/*
 * Never 0.  Libraries load megabytes of code in a loop (cuFFT: twelve images a plan), so that large
 * images are hashed in lanes of words, which do not wait for each other, and their hashes in turn.
 */
#define IMAGE_LANES 8
static inline uint64_t image_hash(const void *bytes, uint64_t size)
{
	uint64_t lane[IMAGE_LANES + 1], word[IMAGE_LANES], at = 0;

	if (size <= IMAGE_START_BYTES)
		return image_hash_in_turn(bytes, size);
	for (int i = 0; i < IMAGE_LANES; i++)
		lane[i] = size + (uint64_t)i;
	for (; size - at >= sizeof(word); at += sizeof(word)) {
		memcpy(word, (const char *)bytes + at, sizeof(word));
		for (int i = 0; i < IMAGE_LANES; i++)
			lane[i] = image_hash_step(lane[i], word[i]);
	}
	lane[IMAGE_LANES] = image_hash_in_turn((const char *)bytes + at, size - at);
	return image_hash_in_turn(lane, sizeof(lane));
}

/* Is it the hash of an image in a trace of this format or an earlier one? */
static inline int image_has_hash(const void *bytes, uint64_t size, uint64_t hash)
{
	return image_hash(bytes, size) == hash || image_hash_in_turn(bytes, size) == hash;
}

#endif
