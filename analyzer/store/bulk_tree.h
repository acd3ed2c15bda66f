/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a b-tree of SQLite's file format ("Database File Format", sqlite.org/fileformat2.html,
 * section 1.6) from cells that come in order: a full page is written and never read again.  Leaves
 * are kept in an unlinked file next to the database until they are appended to it.  Owns its file
 * and memory; single-threaded.
 */
#ifndef CUFENCE_BULK_TREE_H
#define CUFENCE_BULK_TREE_H

#include <stddef.h>

#include "db.h"

enum bulk_tree_kind { BULK_TABLE, BULK_INDEX };

/* A page: its number, and the separator between it and the next one. */
struct bulk_child {
	uint32_t page;
	uint8_t size;          /* of separator */
	uint8_t separator[23]; /* table: the last row's id; index: a key that is in no leaf */
};

struct bulk_tree {
	struct db *db;
	enum bulk_tree_kind kind;
	int file;
	uint32_t root, page_size;
	uint8_t *block;       /* pages: `full` full ones and the one being filled */
	unsigned full, cells; /* pages; cells in the page being filled */
	uint32_t free_end;    /* in that page: cells grow down from here */
	int64_t last;         /* for a table: the id of the last row */
	struct bulk_child *leaf;
	size_t leaf_count;
	uint32_t before; /* the page of the database after which it begins */
};

/* Opens the tree of an empty table or index.  Returns 0, or -1 after a message. */
int bulk_tree_open(struct bulk_tree *tree, struct db *db, const char *name,
	enum bulk_tree_kind kind);

/*
 * Returns space for the next cell, of at most 1000 bytes, in an index at most 23; NULL after a
 * message.  For a table, the caller then sets last to the id of the row.
 */
uint8_t *bulk_tree_place(struct bulk_tree *tree, unsigned size);

/*
 * Call outside of a transaction: writes the cells of trees to their database.  Returns 0, or -1
 * after a message.
 */
int bulk_tree_finish(struct bulk_tree *const *tree, size_t count);

/*
 * Instead of bulk_tree_finish(): calls each() with the cells in order, which ends when one returns
 * something else than 0, and leaves an empty tree.  After a cell come 8 bytes that may be read.
 * Returns 0, or -1 after a message.
 */
int bulk_tree_empty(struct bulk_tree *tree, int (*each)(void *arg, const uint8_t *cell), void *arg);

void bulk_tree_release(struct bulk_tree *tree);

/* Reads a varint that was written by the next function, and moves after it. */
static inline uint64_t bulk_read_varint(const uint8_t **at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++) {
		uint8_t byte = *(*at)++;

		value = value << 7 | (byte & 0x7f);
		if (byte < 0x80)
			return value;
	}
	return value << 8 | *(*at)++;
}

/*
 * Writes a varint: seven bits per byte, highest first; the ninth byte has eight.  Returns the
 * number of bytes.
 */
unsigned bulk_long_varint(uint8_t *at, uint64_t value);

static inline unsigned bulk_varint(uint8_t *at, uint64_t value)
{
	if (value >= 0x4000)
		return bulk_long_varint(at, value);
	if (value < 0x80) {
		at[0] = (uint8_t)value;
		return 1;
	}
	at[0] = (uint8_t)(value >> 7 | 0x80);
	at[1] = (uint8_t)(value & 0x7f);
	return 2;
}

static inline unsigned bulk_varint_size(uint64_t value)
{
	unsigned size = (64 - (unsigned)__builtin_clzll(value | 1) + 6) / 7;

	return size < 9 ? size : 9;
}

#endif
