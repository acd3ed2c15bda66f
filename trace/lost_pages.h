/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped files that become shorter under us.  Looking at a page that the file no longer has is a
 * SIGBUS: while a mapping is watched such pages become zeros instead, and lost says so.
 *
 * One thread watches and unwatches; the struct is the caller's and stays where it is meanwhile.
 */
#ifndef CUFENCE_LOST_PAGES_H
#define CUFENCE_LOST_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct lost_pages {
	uint8_t *base;
	size_t size;
	volatile int lost; /* 1: part of it is zeros now */
	struct lost_pages *next;
};

/* Watches [base, base + size), whose base is that of a page. */
void lost_pages_watch(struct lost_pages *pages, void *base, size_t size);

/* Does nothing if it is not watched. */
void lost_pages_unwatch(struct lost_pages *pages);

#endif
