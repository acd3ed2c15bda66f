/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds how much of mapped files is resident.  Once the ranges are larger than the bound, a thread
 * looks ten times a second, and beyond the bound unmaps their pages.  These stay in the kernel's
 * cache, from where it can write them out before others lack memory, and are mapped again when they
 * are touched.  Any thread may add and remove ranges.  They must be shared mappings of files:
 * others would lose their contents.
 */
#ifndef CUFENCE_RESIDENT_H
#define CUFENCE_RESIDENT_H

#include <stddef.h>

#define RESIDENT_BYTES ((size_t)2 << 30)

struct resident;

/* most: bytes. */
struct resident *resident_new(size_t most);
void resident_free(struct resident *resident);

/* The one of all columns and large arrays, which keeps RESIDENT_BYTES.  It is nobody's to free. */
struct resident *resident_of_process(void);

/* A range must be removed before it is unmapped.  Without a thread nothing is bounded. */
void resident_add(struct resident *resident, void *at, size_t bytes);
void resident_remove(struct resident *resident, const void *from, size_t bytes);

/* Returns the bytes of files in this process's memory, 0: not known. */
size_t resident_bytes(void);

#endif
