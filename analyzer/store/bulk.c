/* SPDX-License-Identifier: Apache-2.0 */
#include "bulk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_tree.h"
#include "memory.h"
#include "rows.h"

enum {
	MAX_ROW = 900, /* bytes; longer ones would need overflow pages */
};

struct bulk {
	struct db *db;
	enum schema_id table;
	int in_memory; /* rows are written by db_add() */
	struct relay *relay;
	struct bulk_tree tree; /* of the relay's thread until that ends */
	int64_t added;         /* rows */
};

/* What the relay's thread does. */
struct row_to_write {
	int64_t id; /* unless the table has a key */
	char row[]; /* struct row_NAME */
};

struct key_to_write {
	int64_t value, id;
};

/*
 * Writes a number in the fewest bytes; returns its serial type, and its size.  8 bytes at `at` must
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
	uint8_t header[2 * SCHEMA_COLUMNS_MOST], body[MAX_ROW + 16];
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

static int fill_row(struct row *row, const struct schema_table *table, const char *from)
{
	uint8_t *header = row->header, *body = row->body, *most = row->body + MAX_ROW;

	for (size_t i = 0; i < table->columns && body <= most; i++) {
		const struct schema_column *column = &table->column[i];
		struct cell cell;
		int64_t value;
		unsigned size = 0;
		size_t bytes;

		if (column->type != SQLITE_INTEGER) {
			memcpy(&cell, from, sizeof(cell));
			from += sizeof(cell);
			bytes = put_bytes(&header, body, (size_t)(most - body),
				column->type == SQLITE_BLOB ? 12 : 13, cell.at, cell.length);
			body = bytes == SIZE_MAX ? most + 1 : body + bytes;
			continue;
		}
		memcpy(&value, from, sizeof(value));
		from += sizeof(value);
		/* A key is the row id and stores nothing. */
		if (column->null == SCHEMA_IS_KEY)
			row->id = value;
		*header++ = column->null && (value == DB_NULL || column->null == SCHEMA_IS_KEY)
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
	bulk->tree.last = row->id;
	return 0;
}

static int write_row(void *arg, void *bytes)
{
	struct bulk *bulk = arg;
	const struct row_to_write *add = bytes;
	struct row row;

	row.id = add->id;
	return fill_row(&row, &schema_tables[bulk->table], add->row) || put_row(bulk, &row) ? -1
											    : 0;
}

int bulk_add(struct bulk *bulk, enum schema_id table, const void *from)
{
	size_t size = schema_tables[table].row;
	struct row_to_write *row;

	assert(bulk->table == table);
	bulk->added++;
	if (bulk->in_memory)
		return db_add(bulk->db, table, from);
	row = relay_add(bulk->relay, write_row, bulk, sizeof(*row) + size);
	if (!row)
		return -1;
	row->id = bulk->added;
	memcpy(row->row, from, size);
	return 0;
}

int64_t bulk_last(const struct bulk *bulk)
{
	return bulk->added;
}

static int write_key(void *arg, void *bytes)
{
	struct bulk *index = arg;
	const struct key_to_write *key = bytes;
	int64_t value = key->value, id = key->id;
	uint8_t body[16], *cell;
	unsigned types[2] = { 0 }, first = 0, second;

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

int bulk_add_key(struct bulk *index, int64_t value, int64_t id)
{
	struct key_to_write *key;

	if (index->in_memory)
		return 0;
	key = relay_add(index->relay, write_key, index, sizeof(*key));
	if (key)
		*key = (struct key_to_write){ value, id };
	return key ? 0 : -1;
}

/* --- moved from another one --- */

struct append {
	struct bulk *to;
	const struct id_shift *shift;
	int values, rows; /* tables of ids: of an index's values; of the rows */
	int target[SCHEMA_COLUMNS_MOST];
};

/* 8 bytes can be read. */
static int64_t get_number(unsigned type, const uint8_t *at)
{
	static const uint8_t shifts[] = { 0, 56, 48, 40, 32, 16, 0 };
	uint64_t big;

	if (type >= 8)
		return (int64_t)type - 8;
	memcpy(&big, at, sizeof(big));
	return (int64_t)__builtin_bswap64(big) >> shifts[type];
}

/* In the body, of a number. */
static unsigned size_of(unsigned type)
{
	static const uint8_t sizes[] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

	return sizes[type];
}

/* Copies a record with other ids, each of which may take more bytes than before. */
static void shift_row(const struct append *append, struct row *row, const uint8_t *types,
	const uint8_t *body)
{
	size_t columns = schema_tables[append->to->table].columns;
	uint8_t *header = row->header, *to = row->body;

	for (size_t i = 0; i < columns; i++) {
		unsigned type = (unsigned)bulk_read_varint(&types), size;

		if (type >= 12) {
			header += bulk_varint(header, type);
			size = (type - 12) / 2;
			memcpy(to, body, size);
			to += size;
		} else if (!type || append->target[i] < 0) {
			*header++ = (uint8_t)type;
			size = size_of(type);
			memcpy(to, body, 8);
			to += size;
		} else {
			int64_t id = get_number(type, body);
			unsigned put;

			*header++ = (uint8_t)put_number(to,
				id_shifted(append->shift, append->target[i], id), &put);
			size = size_of(type);
			to += put;
		}
		body += size;
	}
	row->header_size = (unsigned)(header - row->header);
	row->body_size = (unsigned)(to - row->body);
}

static int append_row(void *arg, const uint8_t *cell)
{
	const struct append *append = arg;
	uint64_t size = bulk_read_varint(&cell);
	int64_t id = (int64_t)bulk_read_varint(&cell);
	const uint8_t *types = cell, *body;
	struct row row;

	body = cell + bulk_read_varint(&types);
	if (size > MAX_ROW - sizeof(int64_t) * SCHEMA_COLUMNS_MOST) {
		fputs("cufence: a row is too long\n", stderr);
		return -1;
	}
	row.id = id_shifted(append->shift, append->rows, id);
	shift_row(append, &row, types, body);
	return put_row(append->to, &row);
}

int bulk_append(struct bulk *bulk, struct bulk *from, const struct id_shift *shift)
{
	const struct schema_table *table = &schema_tables[bulk->table];
	struct append append = { .to = bulk, .shift = shift, .rows = (int)bulk->table };

	for (size_t i = 0; i < table->columns; i++) {
		append.target[i] = id_table(&table->column[i], bulk->table);
		if (table->column[i].null == SCHEMA_IS_KEY)
			append.rows = append.target[i];
	}
	bulk->added += from->added;
	return bulk->in_memory ? 0 : bulk_tree_empty(&from->tree, append_row, &append);
}

static int append_key(void *arg, const uint8_t *cell)
{
	const struct append *append = arg;
	const uint8_t *body = cell + 4;
	struct key_to_write key = {
		.value = cell[2] ? get_number(cell[2], body) : DB_NULL,
		.id = get_number(cell[3], body + size_of(cell[2])),
	};

	key.value = id_shifted(append->shift, append->values, key.value);
	key.id = id_shifted(append->shift, append->rows, key.id);
	return write_key(append->to, &key);
}

int bulk_append_keys(struct bulk *index, struct bulk *from, const struct id_shift *shift,
	enum schema_id values, enum schema_id rows)
{
	struct append append = { index, shift, (int)values, (int)rows, { 0 } };

	return index->in_memory ? 0 : bulk_tree_empty(&from->tree, append_key, &append);
}

int bulk_in_memory(const struct bulk *bulk)
{
	return bulk->in_memory;
}

int bulk_finish(struct bulk *const *bulk, size_t count)
{
	struct bulk_tree **tree = xcalloc(count, sizeof(*tree));
	size_t trees = 0;
	int rc;

	for (size_t i = 0; i < count; i++)
		if (!bulk[i]->in_memory)
			tree[trees++] = &bulk[i]->tree;
	rc = trees ? bulk_tree_finish(tree, trees) : 0;
	free(tree);
	return rc;
}

static struct bulk *new_bulk(struct db *db, struct relay *relay)
{
	const char *name = sqlite3_db_filename(db->handle, "main");
	struct bulk *bulk = xcalloc(1, sizeof(*bulk));

	bulk->db = db;
	bulk->relay = relay;
	bulk->in_memory = !name || !*name;
	bulk->tree.file = -1;
	return bulk;
}

struct bulk *bulk_open(struct db *db, enum schema_id table, struct relay *relay)
{
	struct bulk *bulk = new_bulk(db, relay);

	bulk->table = table;
	if (bulk->in_memory ||
		!bulk_tree_open(&bulk->tree, db, schema_tables[table].name, BULK_TABLE))
		return bulk;
	bulk_free(bulk);
	return NULL;
}

struct bulk *bulk_open_index(struct db *db, const char *index, struct relay *relay)
{
	struct bulk *bulk = new_bulk(db, relay);

	if (bulk->in_memory || !bulk_tree_open(&bulk->tree, db, index, BULK_INDEX))
		return bulk;
	bulk_free(bulk);
	return NULL;
}

void bulk_free(struct bulk *bulk)
{
	if (!bulk)
		return;
	bulk_tree_release(&bulk->tree);
	free(bulk);
}
