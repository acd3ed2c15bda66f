/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading large files gave, kept between runs of this program in the user's cache folder:
 * $XDG_CACHE_HOME/cufence, else ~/.cache/cufence.  A value is found by a kind and a key that name
 * all it was made from.  Values that another build of this program wrote, and damaged ones, are
 * not found.
 *
 * The folder is used only if it and the folder it lies in are this user's, and nobody else may read
 * or write it.  Without such a folder there is no cache, and no message.  The folder may be removed
 * at any time, and several processes may use it at once.
 */
#ifndef CUFENCE_CACHE_H
#define CUFENCE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of one value, and of all: more is not kept. */
#define CACHE_VALUE_MAX (64u << 20)
#define CACHE_TOTAL_MAX (256u << 20)

/* The value, to be freed, with a NUL after its end; NULL: there is none. */
void *cache_get(const char *kind, const char *key, size_t *size);

/* Replaces the value.  kind: a word of letters.  A failure is no error: the cache may miss. */
void cache_put(const char *kind, const char *key, const void *value, size_t size);

/* Removes the least recently used files until all take at most so many bytes. */
void cache_trim(uint64_t most);

#endif
