/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles mapped files that are truncated while mapped.  Reading a page beyond the end of the file
 * raises SIGBUS; while a mapping is watched, such pages are replaced by zeros and lost is set.
 *
 * The caller owns the struct, which must not move meanwhile.  Threads may watch mappings of their
 * own at the same time, and must not block SIGBUS.
 */
#ifndef CUFENCE_LOST_PAGES_H
#define CUFENCE_LOST_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct lost_pages {
	uint8_t *base;
	size_t size;
	volatile int lost; /* 1: part of it was replaced by zeros */
	struct lost_pages *next;
};

/* Watches [base, base + size); base is page-aligned. */
void lost_pages_watch(struct lost_pages *pages, void *base, size_t size);

/* Does nothing if it is not watched. */
void lost_pages_unwatch(struct lost_pages *pages);

#endif
