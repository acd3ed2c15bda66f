/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A damaged database: what a number makes of a whole one.  Most damage is done by SQL, under
 * declarations that allow it, before those of cufence are put back: values of the wrong type or
 * range, rows that are missing, indexes that say otherwise, graphs and calls within themselves;
 * the rest to the bytes of the file.
 */
#ifndef CUFENCE_FUZZ_DATABASE_DAMAGE_H
#define CUFENCE_FUZZ_DATABASE_DAMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>

struct damage_base {
	unsigned char *data; /* with loose declarations */
	sqlite3_int64 size;
};

struct damage {
	uint64_t number;
	unsigned char *data;
	sqlite3_int64 size;
	int is_certain; /* who looks at it cannot take it for whole */
	char what[200]; /* the kinds of damage */
};

/* 0 or -1; nothing releases it. */
int damage_base_init(struct damage_base *base, sqlite3 *whole);

int damage_init(struct damage *damage, const struct damage_base *base, uint64_t number);
void damage_release(struct damage *damage);

/* 0, or -1 after a message. */
int damage_write(const struct damage *damage, const char *path);

#endif
