/* SPDX-License-Identifier: Apache-2.0 */
#include "bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"

enum {
	LEAF_TABLE = 13, INTERIOR_TABLE = 5, /* the first byte of a page: what it is */
	LEAF_HEADER = 8, INTERIOR_HEADER = 12,
	MAX_ROW = 1000,            /* bytes; longer ones would need overflow pages */
	MAX_COLUMNS = 64,
	FANOUT = 200,              /* children of an interior page: 200 * 15 bytes fit into any page */
	BLOCK = 64,                /* pages written at once */
};
#define LOCK_BYTE 0x40000000u /* the page that holds it is never used */

/* A page of the level being linked, and the last row in or beneath it. */
struct child {
	int64_t last;
	uint32_t page;
};

struct bulk {
	struct db *db;
	sqlite3_stmt *insert;      /* database in memory: instead of all below */
	int file;
	uint32_t root, page_size;
	uint8_t *block;            /* BLOCK pages, of which full are full and the next is filled */
	unsigned full, rows;       /* pages; rows in the page being filled */
	uint32_t free_end;         /* of that page: cells grow down from here */
	struct child *leaf;
	size_t leaf_count;
	int64_t last;              /* row id */
};

static int fail(const char *what)
{
	fprintf(stderr, "cufence: cannot write the database: %s: %s\n", what, strerror(errno));
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

/* Seven bits a byte, the highest first; of nine bytes the last has eight. */
static unsigned put_varint(uint8_t *at, uint64_t value)
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

/* A number in the fewest bytes: its serial type, and size of what was put at. */
static unsigned put_number(uint8_t *at, int64_t value, unsigned *size)
{
	static const uint8_t sizes[] = { 1, 2, 3, 4, 6, 8 };
	unsigned type = 0;

	*size = 0;
	if (value == 0 || value == 1)
		return value ? 9 : 8;
	while (type < 5 && (value < -(INT64_C(1) << (8 * sizes[type] - 1)) ||
			   value >= INT64_C(1) << (8 * sizes[type] - 1)))
		type++;
	*size = sizes[type];
	for (unsigned i = *size; i-- > 0; value >>= 8)
		at[i] = (uint8_t)value;
	return type + 1;
}

/* A record: the sizes of header and body, and what they hold. */
struct row {
	uint8_t header[2 * MAX_COLUMNS], body[MAX_ROW];
	unsigned header_size, body_size;
	int64_t id;
};

static int add_text(struct row *row, const char *text, size_t length)
{
	if (!text) {
		row->header[row->header_size++] = 0;
		return 0;
	}
	if (length > sizeof(row->body) - row->body_size) {
		fputs("cufence: a row is too long\n", stderr);
		return -1;
	}
	row->header_size += put_varint(row->header + row->header_size, 13 + 2 * (uint64_t)length);
	memcpy(row->body + row->body_size, text, length);
	row->body_size += (unsigned)length;
	return 0;
}

static int add_number(struct row *row, int64_t value)
{
	unsigned size;

	if (sizeof(row->body) - row->body_size < 8) {
		fputs("cufence: a row is too long\n", stderr);
		return -1;
	}
	row->header[row->header_size++] =
		(uint8_t)put_number(row->body + row->body_size, value, &size);
	row->body_size += size;
	return 0;
}

static int add_value(struct row *row, char type, va_list *values)
{
	const char *text;
	int64_t value;

	switch (type) {
	case 'k': /* its column is the row's id and holds nothing */
		row->id = va_arg(*values, int64_t);
		row->header[row->header_size++] = 0;
		return 0;
	case 's':
		text = va_arg(*values, const char *);
		return add_text(row, text, text ? strlen(text) : 0);
	case 't':
		text = va_arg(*values, const char *);
		return add_text(row, text, va_arg(*values, size_t));
	default:
		value = va_arg(*values, int64_t);
		if (type != 'I' || value != DB_NULL)
			return add_number(row, value);
		row->header[row->header_size++] = 0;
		return 0;
	}
}

static uint8_t *current_page(const struct bulk *bulk)
{
	return bulk->block + (size_t)bulk->full * bulk->page_size;
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

static int write_block(struct bulk *bulk)
{
	off_t at = (off_t)(bulk->leaf_count - bulk->full) * bulk->page_size;
	int rc = write_all(bulk->file, bulk->block, (size_t)bulk->full * bulk->page_size, at);

	memset(bulk->block, 0, (size_t)BLOCK * bulk->page_size);
	bulk->full = 0;
	return rc;
}

static int finish_page(struct bulk *bulk)
{
	struct child *more = array_room(bulk->leaf, bulk->leaf_count, sizeof(*more));
	uint8_t *page = current_page(bulk);

	if (!more)
		return -1;
	bulk->leaf = more;
	more[bulk->leaf_count++] = (struct child){ .last = bulk->last };
	page[0] = LEAF_TABLE;
	put16(page + 3, bulk->rows);
	put16(page + 5, bulk->free_end & 0xffff);
	bulk->rows = 0;
	bulk->free_end = bulk->page_size;
	return ++bulk->full == BLOCK ? write_block(bulk) : 0;
}

/* The row as a cell: size, id, size of the header, header, body. */
static int put_row(struct bulk *bulk, const struct row *row)
{
	uint8_t prefix[19], *cell;
	/* Two bytes say the header's size, themselves included, wherever one is not enough. */
	unsigned header = row->header_size + (row->header_size + 1 < 128 ? 1 : 2);
	unsigned size = put_varint(prefix, header + row->body_size), bytes;

	size += put_varint(prefix + size, (uint64_t)row->id);
	size += put_varint(prefix + size, header);
	bytes = size + row->header_size + row->body_size;
	if (bulk->free_end - LEAF_HEADER - 2 * bulk->rows < bytes + 2 && finish_page(bulk))
		return -1;
	bulk->free_end -= bytes;
	cell = current_page(bulk) + bulk->free_end;
	memcpy(cell, prefix, size);
	memcpy(cell + size, row->header, row->header_size);
	memcpy(cell + size + row->header_size, row->body, row->body_size);
	put16(current_page(bulk) + LEAF_HEADER + 2 * bulk->rows++, bulk->free_end);
	bulk->last = row->id;
	return 0;
}

static int insert(struct bulk *bulk, const char *types, va_list values)
{
	char plain[MAX_COLUMNS + 1];
	size_t count = 0;

	for (; types[count] && count < MAX_COLUMNS; count++)
		plain[count] = types[count] == 'k' ? 'i' : types[count];
	plain[count] = '\0';
	return db_run_list(bulk->insert, plain, values);
}

int bulk_add(struct bulk *bulk, const char *types, ...)
{
	struct row row;
	va_list values;
	int rc = 0;

	row.header_size = row.body_size = 0;
	row.id = bulk->last + 1;
	va_start(values, types);
	if (bulk->insert)
		rc = insert(bulk, types, values);
	else
		for (unsigned i = 0; types[i] && !rc; i++)
			rc = add_value(&row, types[i], &values);
	va_end(values);
	return rc || bulk->insert ? rc : put_row(bulk, &row);
}

/* Where a run of pages goes that is to begin at first: around the page that is never used. */
static uint32_t page_after(const struct bulk *bulk, uint32_t page)
{
	return page + 1 == LOCK_BYTE / bulk->page_size + 1 ? page + 2 : page + 1;
}

static off_t place_of(const struct bulk *bulk, uint32_t page)
{
	return (off_t)(page - 1) * bulk->page_size;
}

/* Copies the leaves behind what the database has; page: its last one, then ours. */
static int append_leaves(struct bulk *bulk, int database, uint32_t *page)
{
	for (size_t i = 0; i < bulk->leaf_count; i++) {
		uint8_t *to = bulk->block + i % BLOCK * bulk->page_size;
		size_t left = bulk->leaf_count - i;

		if (i % BLOCK == 0 && pread(bulk->file, bulk->block,
			    (left < BLOCK ? left : BLOCK) * bulk->page_size,
			    (off_t)i * bulk->page_size) <= 0)
			return fail("pread");
		*page = page_after(bulk, *page);
		bulk->leaf[i].page = *page;
		if (write_all(database, to, bulk->page_size, place_of(bulk, *page)))
			return -1;
	}
	return 0;
}

static int write_interior(struct bulk *bulk, int database, const struct child *child, size_t count,
	uint32_t page)
{
	uint8_t *at = bulk->block, cell[16];
	uint32_t end = bulk->page_size;

	memset(at, 0, bulk->page_size);
	for (size_t i = 0; i + 1 < count; i++) {
		unsigned size = 4 + put_varint(cell + 4, (uint64_t)child[i].last);

		put32(cell, child[i].page);
		end -= size;
		memcpy(at + end, cell, size);
		put16(at + INTERIOR_HEADER + 2 * i, end);
	}
	at[0] = INTERIOR_TABLE;
	put16(at + 3, (unsigned)count - 1);
	put16(at + 5, end & 0xffff);
	put32(at + 8, child[count - 1].page);
	return write_all(database, at, bulk->page_size, place_of(bulk, page));
}

/* Links the leaves, level by level, until one page is left: the root, whose number is given. */
static int link_pages(struct bulk *bulk, int database, uint32_t *page)
{
	struct child *child = bulk->leaf;
	size_t count = bulk->leaf_count;

	while (count > 1) {
		size_t groups = (count + FANOUT - 1) / FANOUT, first = 0;

		for (size_t i = 0; i < groups; i++) {
			size_t end = count * (i + 1) / groups;
			uint32_t to = bulk->root;

			if (groups > 1)
				to = *page = page_after(bulk, *page);
			if (write_interior(bulk, database, child + first, end - first, to))
				return -1;
			child[i] = (struct child){ child[end - 1].last, to };
			first = end;
		}
		count = groups;
	}
	return 0;
}

/* The database has grown: readers are to know, SQLite's own cache included. */
static int write_header(const struct bulk *bulk, int database, uint32_t pages)
{
	uint8_t header[100];

	if (pread(database, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return fail("pread");
	put32(header + 24, get32(header + 24) + 1);
	put32(header + 28, pages);
	put32(header + 92, get32(header + 24));
	return write_all(database, header, sizeof(header), 0);
}

static int link_rows(struct bulk *bulk, int database)
{
	off_t size = lseek(database, 0, SEEK_END);
	uint32_t page = (uint32_t)(size / bulk->page_size);

	if (bulk->leaf_count == 1) {
		if (pread(bulk->file, bulk->block, bulk->page_size, 0) <= 0)
			return fail("pread");
		return write_all(database, bulk->block, bulk->page_size,
			       place_of(bulk, bulk->root)) ||
		       write_header(bulk, database, page) ? -1 : 0;
	}
	return append_leaves(bulk, database, &page) || link_pages(bulk, database, &page) ||
	       write_header(bulk, database, page) ? -1 : 0;
}

int bulk_finish(struct bulk *bulk)
{
	int database, rc;

	if (bulk->insert || (bulk->rows && finish_page(bulk)) || write_block(bulk))
		return bulk->insert ? 0 : -1;
	if (!bulk->leaf_count)
		return 0;
	database = open(bulk->db->path, O_RDWR | O_CLOEXEC);
	if (database < 0)
		return fail(bulk->db->path);
	rc = link_rows(bulk, database);
	close(database);
	bulk->leaf_count = 0;
	return rc;
}

/* "?,?,?" for the columns that can be given. */
static int prepare_insert(struct bulk *bulk, const char *table)
{
	char count[200], sql[64 + 2 * MAX_COLUMNS];
	int64_t columns;
	size_t used;

	snprintf(count, sizeof(count), "SELECT count(*) FROM pragma_table_info('%s')", table);
	columns = db_int(bulk->db, count, 0);
	if (columns < 1 || columns > MAX_COLUMNS)
		return -1;
	used = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %.40s VALUES (?", table);
	while (--columns) {
		sql[used++] = ',';
		sql[used++] = '?';
	}
	sql[used++] = ')';
	sql[used] = '\0';
	bulk->insert = db_prepare(bulk->db, sql);
	return bulk->insert ? 0 : -1;
}

static int prepare_pages(struct bulk *bulk, const char *table)
{
	char sql[200], *name = NULL;

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", table);
	bulk->root = (uint32_t)db_int(bulk->db, sql, 0);
	bulk->page_size = (uint32_t)db_int(bulk->db, "PRAGMA page_size", 0);
	bulk->free_end = bulk->page_size;
	if (!bulk->root || bulk->page_size < 4096) {
		fprintf(stderr, "cufence: there is no table '%s' to fill\n", table);
		return -1;
	}
	bulk->block = calloc(BLOCK, bulk->page_size);
	if (!bulk->block || asprintf(&name, "%s.%s", bulk->db->path, table) < 0) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	bulk->file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (bulk->file >= 0)
		unlink(name);
	else
		fail(name);
	free(name);
	return bulk->file < 0 ? -1 : 0;
}

struct bulk *bulk_open(struct db *db, const char *table)
{
	const char *name = sqlite3_db_filename(db->handle, "main");
	struct bulk *bulk = calloc(1, sizeof(*bulk));

	if (!bulk) {
		fputs("cufence: out of memory\n", stderr);
		return NULL;
	}
	bulk->db = db;
	bulk->file = -1;
	if (name && *name ? prepare_pages(bulk, table) : prepare_insert(bulk, table)) {
		bulk_free(bulk);
		return NULL;
	}
	return bulk;
}

void bulk_free(struct bulk *bulk)
{
	if (!bulk)
		return;
	sqlite3_finalize(bulk->insert);
	if (bulk->file >= 0)
		close(bulk->file);
	free(bulk->block);
	free(bulk->leaf);
	free(bulk);
}
