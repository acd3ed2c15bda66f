/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of reading large files, kept between runs of this program in the user's cache folder:
 * $XDG_CACHE_HOME/cufence, else ~/.cache/cufence.  A value is found by a kind and a key that names
 * all its inputs.  Values written by another build of this program, and damaged ones, are ignored.
 *
 * The folder is used only if this user owns it and its parent, and no other user has access.
 * Without such a folder there is no cache, and no message.  The folder may be removed at any time,
 * and several processes may use it at once.
 */
#ifndef CUFENCE_CACHE_H
#define CUFENCE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Size limits in bytes, of one value and of all values; larger values are not stored, but computed
 * again.
 */
#define CACHE_VALUE_MAX (64u << 20)
#define CACHE_TOTAL_MAX (256u << 20)

/* Returns the value with a NUL after its end, for the caller to free; NULL if there is none. */
void *cache_get(const char *kind, const char *key, size_t *size);

/* Replaces the value. kind: a word of letters.  Failures are ignored. */
void cache_put(const char *kind, const char *key, const void *value, size_t size);

/* Removes the least recently used files until all together have at most so many bytes. */
void cache_trim(uint64_t most);

#endif
