/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1a hash of short texts and of call paths.  The recorder and the analyzer must compute the
 * same value, so both use this header.
 */
#ifndef CUFENCE_BYTE_HASH_H
#define CUFENCE_BYTE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define BYTE_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* hash: BYTE_HASH_SEED, or the result for the preceding bytes. */
static inline uint64_t byte_hash(uint64_t hash, const void *bytes, size_t count)
{
	for (const uint8_t *at = bytes; count--; at++)
		hash = (hash ^ *at) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
