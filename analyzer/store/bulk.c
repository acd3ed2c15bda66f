/* SPDX-License-Identifier: Apache-2.0 */
#include "bulk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_tree.h"

enum {
	MAX_ROW = 900, /* bytes; longer ones would need overflow pages */
	MAX_COLUMNS = 64,
};

struct bulk {
	struct db *db;
	sqlite3_stmt *insert; /* for a database in memory, instead of pages */
	int in_memory;
	struct bulk_tree tree;
	int64_t last; /* row id */
};

/*
 * Writes a number in the fewest bytes; returns its serial type, and its size. 8 bytes at `at` must
 * be writable.
 */
static inline unsigned put_number(uint8_t *at, int64_t value, unsigned *size)
{
	/* Serial type by number of bytes including the sign, 0 to 8. */
	static const uint8_t types[] = { 1, 1, 2, 3, 4, 5, 5, 6, 6 };
	static const uint8_t sizes[] = { 0, 1, 2, 3, 4, 6, 8 };
	uint64_t magnitude = (uint64_t)(value ^ (value >> 63)), big;
	unsigned type;

	*size = 0;
	if (value == 0 || value == 1)
		return value ? 9 : 8;
	type = types[(64 - (unsigned)__builtin_clzll(magnitude | 1)) / 8 + 1];
	*size = sizes[type];
	big = __builtin_bswap64((uint64_t)value << (64 - 8 * *size));
	memcpy(at, &big, sizeof(big));
	return type;
}

/* Header and body of a record.  A number may be written beyond the last byte. */
struct row {
	uint8_t header[2 * MAX_COLUMNS], body[MAX_ROW + 16];
	unsigned header_size, body_size;
	int64_t id;
};

/* kind: serial type, 12: bytes, 13: text.  Returns the size in the body, SIZE_MAX: too long. */
static size_t put_bytes(uint8_t **header, uint8_t *body, size_t room, unsigned kind,
	const char *text, size_t length)
{
	if (!text) {
		*(*header)++ = 0;
		return 0;
	}
	if (length > room)
		return SIZE_MAX;
	*header += bulk_varint(*header, kind + 2 * (uint64_t)length);
	memcpy(body, text, length);
	return length;
}

static int fill_row(struct row *row, const char *types, va_list values)
{
	uint8_t *header = row->header, *body = row->body, *most = row->body + MAX_ROW;
	const char *text;
	int64_t value;
	unsigned size;
	size_t bytes;

	for (; *types && body <= most; types++)
		switch (*types) {
		case 'k': /* the column is the row id and stores nothing */
			row->id = va_arg(values, int64_t);
			*header++ = 0;
			break;
		case 's':
		case 't':
		case 'b':
			text = va_arg(values, const char *);
			bytes = *types == 's' ? (text ? strlen(text) : 0) : va_arg(values, size_t);
			bytes = put_bytes(&header, body, (size_t)(most - body),
				*types == 'b' ? 12 : 13, text, bytes);
			body = bytes == SIZE_MAX ? most + 1 : body + bytes;
			break;
		default:
			value = va_arg(values, int64_t);
			size = 0;
			*header++ = *types == 'I' && value == DB_NULL
				? 0
				: (uint8_t)put_number(body, value, &size);
			body += size;
		}
	row->header_size = (unsigned)(header - row->header);
	row->body_size = (unsigned)(body - row->body);
	if (body <= most)
		return 0;
	fputs("cufence: a row is too long\n", stderr);
	return -1;
}

/* Writes the row as a cell: size, id, size of the header, header, body. */
static int put_row(struct bulk *bulk, const struct row *row)
{
	/* The header's size includes its own size field, of one or two bytes. */
	unsigned header = row->header_size + (row->header_size + 1 < 128 ? 1 : 2);
	unsigned size = header + row->body_size;
	uint8_t *at = bulk_tree_place(&bulk->tree,
		size + bulk_varint_size(size) + bulk_varint_size((uint64_t)row->id));

	if (!at)
		return -1;
	at += bulk_varint(at, size);
	at += bulk_varint(at, (uint64_t)row->id);
	at += bulk_varint(at, header);
	memcpy(at, row->header, row->header_size);
	memcpy(at + row->header_size, row->body, row->body_size);
	bulk->last = bulk->tree.last = row->id;
	return 0;
}

static int insert(struct bulk *bulk, const char *types, va_list values)
{
	char plain[MAX_COLUMNS + 1];
	size_t count = 0;

	bulk->last++;
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

	row.id = bulk->last + 1;
	va_start(values, types);
	if (bulk->in_memory)
		rc = insert(bulk, types, values);
	else
		rc = fill_row(&row, types, values);
	va_end(values);
	return rc || bulk->in_memory ? rc : put_row(bulk, &row);
}

int64_t bulk_last(const struct bulk *bulk)
{
	return bulk->last;
}

int bulk_add_key(struct bulk *index, int64_t value, int64_t id)
{
	uint8_t body[16], *cell;
	unsigned types[2] = { 0 }, first = 0, second;

	if (index->in_memory)
		return 0;
	if (value != DB_NULL)
		types[0] = put_number(body, value, &first);
	types[1] = put_number(body + first, id, &second);
	cell = bulk_tree_place(&index->tree, 4 + first + second);
	if (!cell)
		return -1;
	cell[0] = (uint8_t)(3 + first + second);
	cell[1] = 3; /* the header: itself and two types */
	cell[2] = (uint8_t)types[0];
	cell[3] = (uint8_t)types[1];
	memcpy(cell + 4, body, first + second);
	return 0;
}

int bulk_finish(struct bulk *bulk)
{
	return bulk->in_memory ? 0 : bulk_tree_finish(&bulk->tree);
}

/* "?,?,?" for the columns that can be set. */
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

static struct bulk *new_bulk(struct db *db)
{
	const char *name = sqlite3_db_filename(db->handle, "main");
	struct bulk *bulk = calloc(1, sizeof(*bulk));

	if (!bulk) {
		fputs("cufence: out of memory\n", stderr);
		return NULL;
	}
	bulk->db = db;
	bulk->in_memory = !name || !*name;
	bulk->tree.file = -1;
	return bulk;
}

struct bulk *bulk_open(struct db *db, const char *table)
{
	struct bulk *bulk = new_bulk(db);

	if (bulk &&
		(bulk->in_memory ? prepare_insert(bulk, table)
				 : bulk_tree_open(&bulk->tree, db, table, BULK_TABLE))) {
		bulk_free(bulk);
		return NULL;
	}
	return bulk;
}

struct bulk *bulk_open_index(struct db *db, const char *index)
{
	struct bulk *bulk = new_bulk(db);

	if (bulk && !bulk->in_memory && bulk_tree_open(&bulk->tree, db, index, BULK_INDEX)) {
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
	bulk_tree_release(&bulk->tree);
	free(bulk);
}
