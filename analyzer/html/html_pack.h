/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for a script to read: each as a zigzag varint (7 bits a byte, the lowest first, the
 * eighth set if more follow), all deflated (RFC 1951) and written in base64.
 */
#ifndef CUFENCE_HTML_PACK_H
#define CUFENCE_HTML_PACK_H

#include <stdint.h>
#include <stdio.h>

struct pack;

/* NULL after a message. */
struct pack *pack_open(FILE *out);

void pack_number(struct pack *pack, int64_t number);

/* The difference of two, whatever they are. */
void pack_step(struct pack *pack, int64_t number, int64_t before);

/* Writes what is left and frees it: 0, or -1 after a message, also of what failed before. */
int pack_close(struct pack *pack);

#endif
