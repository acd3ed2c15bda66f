/* SPDX-License-Identifier: Apache-2.0 */
#include "bulk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "interrupt.h"
#include "print.h"
#include "workers.h"

enum {
	LEAF_HEADER = 8,
	INTERIOR_HEADER = 12,
	FANOUT = 140, /* children of an interior page: 140 * 29 bytes fit any page */
	BLOCK = 64,   /* pages per write */
};
#define LOCK_BYTE 0x40000000u /* the page that contains it is never used */

static int fail(const char *what)
{
	print(stderr, "cufence: cannot write the database: %s: %s\n", what, strerror(errno));
	return -1;
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

unsigned bulk_long_varint(uint8_t *at, uint64_t value)
{
	uint8_t reversed[9];
	unsigned size = 0;

	if (value >> 56) {
		at[8] = (uint8_t)value;
		value >>= 8;
		for (int i = 7; i >= 0; i--, value >>= 7)
			at[i] = (uint8_t)(value & 0x7f) | 0x80;
		return 9;
	}
	do
		reversed[size++] = (uint8_t)(value & 0x7f) | 0x80;
	while (value >>= 7);
	reversed[0] &= 0x7f;
	for (unsigned i = 0; i < size; i++)
		at[i] = reversed[size - 1 - i];
	return size;
}

static uint8_t *current_page(const struct bulk_tree *tree)
{
	return tree->block + (size_t)tree->full * tree->page_size;
}

static int write_all(int file, const uint8_t *from, size_t size, off_t at)
{
	while (size) {
		ssize_t written = pwrite(file, from, size, at);

		if (written < 0)
			return fail("pwrite");
		from += written;
		size -= (size_t)written;
		at += written;
	}
	return 0;
}

static int write_block(struct bulk_tree *tree)
{
	off_t at = (off_t)(tree->leaf_count - tree->full) * tree->page_size;
	int rc = write_all(tree->file, tree->block, (size_t)tree->full * tree->page_size, at);

	tree->full = 0;
	return rc;
}

/* An index stores each key once: the page's last key moves to its separator in the parent. */
static void lift_last_key(struct bulk_tree *tree, struct bulk_child *child)
{
	uint8_t *page = current_page(tree);
	uint32_t start = tree->free_end;
	uint32_t end = tree->cells > 1 ? get16(page + LEAF_HEADER + 2 * (tree->cells - 2))
				       : tree->page_size;

	child->size = (uint8_t)(end - start);
	memcpy(child->separator, page + start, child->size);
	tree->cells--;
	tree->free_end = end;
}

/* more: another page follows. */
static int finish_page(struct bulk_tree *tree, int more)
{
	struct bulk_child *child = array_push(tree->leaf, tree->leaf_count);

	child->size = 0;
	if (tree->kind == BULK_TABLE)
		child->size = (uint8_t)bulk_varint(child->separator, (uint64_t)tree->last);
	else if (more)
		lift_last_key(tree, child);
	/* Clears the space between header and cells. */
	uint8_t *page = current_page(tree);
	uint32_t start = LEAF_HEADER + 2 * tree->cells;

	memset(page + start, 0, tree->free_end - start);
	memset(page, 0, LEAF_HEADER);
	/* The first byte of a page. */
	page[0] = tree->kind == BULK_TABLE ? 13 : 10;
	put16(page + 3, tree->cells);
	put16(page + 5, tree->free_end & 0xffff);
	tree->cells = 0;
	tree->free_end = tree->page_size;
	return ++tree->full == BLOCK ? write_block(tree) : 0;
}

uint8_t *bulk_tree_place(struct bulk_tree *tree, unsigned size)
{
	uint8_t *page;

	if (tree->free_end - LEAF_HEADER - 2 * tree->cells < size + 2 && finish_page(tree, 1))
		return NULL;
	page = current_page(tree);
	tree->free_end -= size;
	put16(page + LEAF_HEADER + 2 * tree->cells++, tree->free_end);
	return page + tree->free_end;
}

/* Returns the first page for a sequence of pages, skipping the page that is never used. */
static uint32_t page_after(const struct bulk_tree *tree, uint32_t page)
{
	return page + 1 == LOCK_BYTE / tree->page_size + 1 ? page + 2 : page + 1;
}

static off_t place_of(const struct bulk_tree *tree, uint32_t page)
{
	return (off_t)(page - 1) * tree->page_size;
}

/* Reads a block of leaves.  Its space is freed at once: the database, or a tree, gets the same. */
static int take_block(struct bulk_tree *tree, size_t first, size_t *count)
{
	size_t left = tree->leaf_count - first;
	off_t at = (off_t)first * tree->page_size, bytes;

	*count = left < BLOCK ? left : BLOCK;
	bytes = (off_t)*count * tree->page_size;
	if (pread(tree->file, tree->block, (size_t)bytes, at) != (ssize_t)bytes)
		return fail("pread");
	(void)fallocate(tree->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes);
	return 0;
}

/* Appends a block of leaves, beginning with leaf `first`, after page; sets page to its last one. */
static int append_block(struct bulk_tree *tree, int database, size_t first, size_t count,
	uint32_t *page)
{
	for (size_t i = 0, start = 0; i < count; i++) {
		uint32_t last = *page;

		*page = tree->leaf[first + i].page = page_after(tree, last);
		if (i + 1 < count && page_after(tree, *page) == *page + 1)
			continue;
		if (write_all(database, tree->block + start * tree->page_size,
			    (i + 1 - start) * tree->page_size,
			    place_of(tree, tree->leaf[first + start].page)))
			return -1;
		start = i + 1;
	}
	return 0;
}

/* Copies the leaves to the end of the database; sets page to the last one. */
static int append_leaves(struct bulk_tree *tree, int database, uint32_t *page)
{
	size_t count;

	for (size_t i = 0; i < tree->leaf_count; i += count)
		if (take_block(tree, i, &count) || append_block(tree, database, i, count, page))
			return -1;
	return 0;
}

static int write_interior(struct bulk_tree *tree, int database, const struct bulk_child *child,
	size_t count, uint32_t page)
{
	uint8_t *at = tree->block, cell[4 + sizeof(child->separator)];
	uint32_t end = tree->page_size;

	memset(at, 0, tree->page_size);
	for (size_t i = 0; i + 1 < count; i++) {
		unsigned size = 4 + child[i].size;

		put32(cell, child[i].page);
		memcpy(cell + 4, child[i].separator, child[i].size);
		end -= size;
		memcpy(at + end, cell, size);
		put16(at + INTERIOR_HEADER + 2 * i, end);
	}
	at[0] = tree->kind == BULK_TABLE ? 5 : 2;
	put16(at + 3, (unsigned)count - 1);
	put16(at + 5, end & 0xffff);
	put32(at + 8, child[count - 1].page);
	return write_all(database, at, tree->page_size, place_of(tree, page));
}

/* Links the leaves, level by level, up to the root page, whose number is given. */
static int link_pages(struct bulk_tree *tree, int database, uint32_t *page)
{
	struct bulk_child *child = tree->leaf;
	size_t count = tree->leaf_count;

	while (count > 1) {
		size_t groups = (count + FANOUT - 1) / FANOUT, first = 0;

		for (size_t i = 0; i < groups; i++) {
			size_t end = count * (i + 1) / groups;
			uint32_t to = tree->root;

			if (groups > 1)
				to = *page = page_after(tree, *page);
			if (write_interior(tree, database, child + first, end - first, to))
				return -1;
			child[i] = child[end - 1];
			child[i].page = to;
			first = end;
		}
		count = groups;
	}
	return 0;
}

/* The database has grown: updates the header for all readers, including SQLite's own cache. */
static int write_header(const struct bulk_tree *tree, int database, uint32_t pages)
{
	uint8_t header[100];

	if (pread(database, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return fail("pread");
	put32(header + 24, get32(header + 24) + 1);
	put32(header + 28, pages);
	put32(header + 92, get32(header + 24));
	return write_all(database, header, sizeof(header), 0);
}

/* Writes what is left to the tree's file. */
static int flush(struct bulk_tree *tree)
{
	return (tree->cells && finish_page(tree, 0)) || write_block(tree) ? -1 : 0;
}

/* The key that an index has between two leaves comes after those of the first one. */
static int empty_leaf(const struct bulk_tree *tree, size_t number, const uint8_t *page,
	int (*each)(void *arg, const uint8_t *cell), void *arg)
{
	const struct bulk_child *child = &tree->leaf[number];
	uint8_t key[sizeof(child->separator) + 8] = { 0 };
	unsigned cells = get16(page + 3);

	for (unsigned i = 0; i < cells; i++)
		if (each(arg, page + get16(page + LEAF_HEADER + 2 * i)))
			return -1;
	memcpy(key, child->separator, child->size);
	return tree->kind == BULK_INDEX && child->size ? each(arg, key) : 0;
}

int bulk_tree_empty(struct bulk_tree *tree, int (*each)(void *arg, const uint8_t *cell), void *arg)
{
	size_t count;
	int rc = flush(tree);

	for (size_t i = 0; i < tree->leaf_count && !rc; i += count) {
		rc = take_block(tree, i, &count);
		for (size_t j = 0; j < count && !rc; j++)
			rc = empty_leaf(tree, i + j, tree->block + j * tree->page_size, each, arg);
	}
	tree->leaf_count = 0;
	return rc;
}

/* Returns the last page of a tree: leaves and those above them, but for the root. */
static uint32_t last_page(const struct bulk_tree *tree)
{
	uint32_t page = tree->before, lock = LOCK_BYTE / tree->page_size + 1;

	for (size_t count = tree->leaf_count; count > 1; count = (count + FANOUT - 1) / FANOUT)
		page += (uint32_t)count;
	return page + (tree->before < lock && page >= lock);
}

struct finishing {
	struct bulk_tree *const *tree;
	int database;
};

static int finish_tree(void *arg, size_t number)
{
	const struct finishing *finishing = arg;
	struct bulk_tree *tree = finishing->tree[number];
	uint32_t page = tree->before;

	if (tree->leaf_count != 1)
		return append_leaves(tree, finishing->database, &page) ||
				link_pages(tree, finishing->database, &page)
			? -1
			: 0;
	if (pread(tree->file, tree->block, tree->page_size, 0) <= 0)
		return fail("pread");
	return write_all(finishing->database, tree->block, tree->page_size,
		place_of(tree, tree->root));
}

int bulk_tree_finish(struct bulk_tree *const *tree, size_t count)
{
	struct finishing finishing = { tree, open(tree[0]->db->path, O_RDWR | O_CLOEXEC) };
	uint32_t page;
	int rc = 0;

	if (finishing.database < 0)
		return fail(tree[0]->db->path);
	page = (uint32_t)(lseek(finishing.database, 0, SEEK_END) / tree[0]->page_size);
	for (size_t i = 0; i < count && !rc; i++) {
		rc = flush(tree[i]);
		tree[i]->before = page;
		page = last_page(tree[i]);
	}
	rc = rc || workers_run(count, finish_tree, &finishing) ||
			write_header(tree[0], finishing.database, page)
		? -1
		: 0;
	close(finishing.database);
	for (size_t i = 0; i < count; i++)
		tree[i]->leaf_count = 0;
	return rc;
}

int bulk_tree_open(struct bulk_tree *tree, struct db *db, const char *name,
	enum bulk_tree_kind kind)
{
	char sql[200], *path = NULL;
	sigset_t before;

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%.60s'", name);
	*tree = (struct bulk_tree){
		.db = db,
		.kind = kind,
		.file = -1,
		.root = (uint32_t)db_int(db, sql, 0),
		.page_size = (uint32_t)db_int(db, "PRAGMA page_size", 0),
	};
	tree->free_end = tree->page_size;
	if (!tree->root || tree->page_size < 4096) {
		print(stderr, "cufence: no table '%s'\n", name);
		return -1;
	}
	tree->block = xcalloc(1, (size_t)BLOCK * tree->page_size + 8);
	path = xprintf("%s.%s", db->path, name);
	interrupt_hold(&before);
	tree->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (tree->file >= 0)
		unlink(path);
	else
		fail(path);
	interrupt_restore(&before);
	free(path);
	return tree->file < 0 ? -1 : 0;
}

void bulk_tree_release(struct bulk_tree *tree)
{
	if (tree->file >= 0)
		close(tree->file);
	free(tree->block);
	free(tree->leaf);
}
