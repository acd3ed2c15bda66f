/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that a thread hands on to another one, which does it in order while the first goes on.  With
 * one processor the caller does it, many pieces at a time.
 *
 *	struct relay *relay = relay_new();
 *	struct line *line = relay_add(relay, write_line, file, sizeof(*line));
 *	if (line)
 *		*line = ...;
 *	...
 *	rc = relay_end(relay);
 *	relay_free(relay);
 *
 * What the work changes is the other thread's until relay_end().  One thread calls these.
 */
#ifndef CUFENCE_RELAY_H
#define CUFENCE_RELAY_H

#include <stddef.h>

struct relay;

struct relay *relay_new(void);

/* Pieces that relay_end() has not waited for may be left undone.  NULL is allowed. */
void relay_free(struct relay *relay);

/* The largest piece, bytes. */
#define RELAY_MOST 4096

/*
 * Adds a piece: work(arg, bytes) will be called with its bytes, which are aligned for any type.
 * Returns where to write these, until the next call of these functions; NULL if some work failed.
 */
void *relay_add(struct relay *relay, int (*work)(void *arg, void *bytes), void *arg, size_t size);

/* Returns when all is done: 0, or -1 if some work returned something else, after which none is. */
int relay_end(struct relay *relay);

#endif
