/* SPDX-License-Identifier: Apache-2.0 */
/* The known word that a mistyped one was meant to be. */
#ifndef CUFENCE_NEAREST_H
#define CUFENCE_NEAREST_H

/* The nearest of the words offered so far; begins as { .word = what was typed }. */
struct nearest {
	const char *word;
	const char *best; /* NULL: none is near; stays valid as long as the word that was offered */
	int distance;
};

/*
 * Near is what at most a third of the word's letters away is: letters left out, added, replaced or
 * swapped with their neighbour.  The first of several wins.
 */
void nearest_offer(struct nearest *nearest, const char *word);

/* "; did you mean 'report'?", as three parts for a message: all are empty if none is near. */
#define NEAREST_FORMAT "%s%s%s"
#define NEAREST_PARTS(n) \
	(n).best ? "; did you mean '" : "", (n).best ? (n).best : "", (n).best ? "'?" : ""

#endif
