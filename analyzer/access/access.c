/* SPDX-License-Identifier: Apache-2.0 */
#include "access_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "unnamed_memory.h"

/* Code: what is known of this shape, else of the kernel. */
static const char call_sql[] =
	"SELECT t.kind, EXISTS (SELECT 1 FROM extent x WHERE x.call = c.id), c.bytes, l.shape, "
	"c.kernel, ifnull(s.complete, k.complete), k.evidence, s.shape IS NOT NULL, "
	"c.dst_memory IN ('device', 'managed'), c.src_memory IN ('device', 'managed'), "
	"ifnull((SELECT x.object FROM call_object x WHERE x.call = c.id AND x.role = 'content'), "
	"0), ifnull(s.reaches, k.reaches) "
	"FROM call c JOIN call_type t ON t.id = c.type LEFT JOIN launch l ON l.call = c.id "
	"LEFT JOIN kernel_code k ON k.kernel = c.kernel "
	"LEFT JOIN shape_code s ON s.shape = l.shape WHERE c.id = ?";

static const char ends_sql[] =
	"SELECT o.role = 'dst', o.address, a.id, a.address, a.bytes FROM operand o "
	"JOIN allocation a ON a.id = o.allocation WHERE o.call = ? AND o.role <> 'word'";

static const char extents_sql[] =
	"SELECT x.role = 'dst', x.address, a.id, a.address, a.bytes, x.bytes, x.pitch, x.rows, "
	"x.slice, "
	"x.slices, x.span FROM extent x LEFT JOIN allocation a ON a.id = x.allocation "
	"WHERE x.call = ?";

/* Words that point into an allocation, with what is known to happen there. */
static const char claims_sql[] =
	"SELECT o.offset, o.address, a.id, a.address, a.bytes, k.direction, k.sure, k.low, k.high, "
	"k.run, k.stride1, k.count1, k.stride2, k.count2, k.stride3, k.count3, k.exact "
	"FROM kernel_access k JOIN operand o ON o.call = ?1 AND o.role = 'word' "
	" AND o.offset = k.offset JOIN allocation a ON a.id = o.allocation "
	"WHERE k.kernel = ?2 AND k.shape IS ?3";

static const char words_sql[] =
	"SELECT o.offset, o.address, a.id, a.address, a.bytes FROM operand o "
	"JOIN allocation a ON a.id = o.allocation WHERE o.call = ?1 AND o.role = 'word' "
	"AND (?4 OR NOT EXISTS (SELECT 1 FROM kernel_access k WHERE k.kernel = ?2 "
	" AND k.shape IS ?3 AND k.offset = o.offset))";

struct access_reader *access_open(struct db *db)
{
	struct access_reader *reader = calloc(1, sizeof(*reader));

	if (!reader) {
		fputs("cufence: out of memory\n", stderr);
		return NULL;
	}
	reader->call = db_prepare(db, call_sql);
	reader->ends = db_prepare(db, ends_sql);
	reader->extents = db_prepare(db, extents_sql);
	reader->claims = db_prepare(db, claims_sql);
	reader->words = db_prepare(db, words_sql);
	reader->graphs = access_graphs_open(db);
	if (reader->call && reader->ends && reader->extents && reader->claims && reader->words &&
		reader->graphs)
		return reader;
	access_close(reader);
	return NULL;
}

void access_close(struct access_reader *reader)
{
	if (!reader)
		return;
	sqlite3_finalize(reader->call);
	sqlite3_finalize(reader->ends);
	sqlite3_finalize(reader->extents);
	sqlite3_finalize(reader->claims);
	sqlite3_finalize(reader->words);
	access_graphs_close(reader->graphs);
	free(reader);
}

void accesses_release(struct accesses *accesses)
{
	free(accesses->access);
	*accesses = (struct accesses){ 0 };
}

int access_some_reach(struct db *db)
{
	return db_int(db,
		       "SELECT EXISTS (SELECT 1 FROM kernel_code WHERE reaches) "
		       "OR EXISTS (SELECT 1 FROM shape_code WHERE reaches)",
		       0) != 0;
}

static int64_t add_bytes(int64_t address, int64_t bytes)
{
	int64_t sum;

	if (__builtin_add_overflow(address, bytes, &sum))
		return bytes < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int access_add(struct accesses *accesses, const struct memory_access *access, int64_t start,
	int64_t bytes)
{
	struct memory_access *slot;
	int64_t end = add_bytes(start, bytes);

	if (accesses->count == accesses->room) {
		size_t room = accesses->room ? 2 * accesses->room : 8;
		struct memory_access *more = realloc(accesses->access, room * sizeof(*more));

		if (!more) {
			fputs("cufence: out of memory\n", stderr);
			return -1;
		}
		accesses->access = more;
		accesses->room = room;
	}
	slot = &accesses->access[accesses->count];
	*slot = *access;
	if (slot->low < start)
		slot->low = start;
	if (slot->high > end)
		slot->high = end;
	/* Outside of the allocation: anything may be said of it. */
	if (slot->low >= slot->high)
		return 0;
	if (!slot->stride_count) {
		slot->start = slot->low;
		slot->run = slot->high - slot->low;
	}
	accesses->count++;
	return 0;
}

static int add_end(struct accesses *accesses, sqlite3_stmt *q, int64_t bytes, int exact)
{
	int64_t address = sqlite3_column_int64(q, 1), start = sqlite3_column_int64(q, 3);
	int64_t size = sqlite3_column_int64(q, 4);
	struct memory_access access = {
		.allocation = sqlite3_column_int64(q, 2),
		.low = address,
		.high = exact ? add_bytes(address, bytes) : add_bytes(start, size),
		.direction = sqlite3_column_int(q, 0) ? ACCESS_WRITE : ACCESS_READ,
		.evidence = EVIDENCE_EXACT,
		.sure = 1,
		.exact = exact != 0,
	};

	return access_add(accesses, &access, start, size);
}

/* Of rows and slices, the slices first: strides get shorter. */
static int add_extent(struct accesses *accesses, sqlite3_stmt *q)
{
	struct memory_access access = {
		.allocation = sqlite3_column_int64(q, 2),
		.low = sqlite3_column_int64(q, 1),
		.direction = sqlite3_column_int(q, 0) ? ACCESS_WRITE : ACCESS_READ,
		.run = sqlite3_column_int64(q, 5),
		.evidence = EVIDENCE_EXACT,
		.sure = 1,
		.exact = 1,
	};

	access.start = access.low;
	access.high = add_bytes(access.low, sqlite3_column_int64(q, 10));
	for (int column = 8; column >= 6; column -= 2)
		if (sqlite3_column_int64(q, column + 1) > 1)
			access.stride[access.stride_count++] =
				(struct access_stride){ sqlite3_column_int64(q, column),
					sqlite3_column_int64(q, column + 1) };
	return access_add(accesses, &access, sqlite3_column_int64(q, 3),
		sqlite3_column_int64(q, 4));
}

/* 1: all of them are in allocations that are known. */
static int add_extents(struct access_reader *reader, int64_t call, struct accesses *accesses)
{
	int step, known = 1;

	if (db_bind(reader->extents, "i", call))
		return -1;
	while ((step = db_step(reader->extents)) > 0) {
		if (sqlite3_column_type(reader->extents, 2) == SQLITE_NULL)
			known = 0;
		else if (add_extent(accesses, reader->extents))
			return -1;
	}
	return step < 0 ? -1 : known;
}

/* An end that has extents has no other bytes. */
static int has_extent(const struct accesses *accesses, size_t first, int direction)
{
	for (size_t i = first; i < accesses->count; i++)
		if (accesses->access[i].direction == direction)
			return 1;
	return 0;
}

/* A symbol's memory, which is no allocation, is a variable's or a constant's. */
#define SYMBOL (PTX_REACH_VARIABLE | PTX_REACH_CONSTANT)
#define SYMBOL_STORE (PTX_REACH_VARIABLE_STORE | PTX_REACH_CONSTANT_STORE)

/* The row of reader->call is a copy, a memset, or values that a stream writes or waits for. */
static int read_ends(struct access_reader *reader, int64_t call, struct accesses *accesses)
{
	int has_bytes = sqlite3_column_type(reader->call, 2) != SQLITE_NULL;
	int64_t bytes = sqlite3_column_int64(reader->call, 2);
	int missing = sqlite3_column_int(reader->call, 8) + 2 * sqlite3_column_int(reader->call, 9);
	size_t first = accesses->count;
	int known = 1, step;

	if (sqlite3_column_int(reader->call, 1))
		known = add_extents(reader, call, accesses);
	if (known < 0 || db_bind(reader->ends, "i", call))
		return -1;
	while ((step = db_step(reader->ends)) > 0) {
		int direction = sqlite3_column_int(reader->ends, 0) ? ACCESS_WRITE : ACCESS_READ;

		missing &= direction == ACCESS_WRITE ? ~1 : ~2;
		if (!has_extent(accesses, first, direction) &&
			add_end(accesses, reader->ends, bytes, has_bytes))
			return -1;
	}
	accesses->named = !(sqlite3_column_int(reader->call, 10) & CONTENT_UNNAMED);
	accesses->complete = known && accesses->named;
	/* Device memory that nobody allocated is a variable's. */
	if (missing)
		accesses->reaches |= missing & 1 ? SYMBOL | SYMBOL_STORE : SYMBOL;
	return step;
}

static int direction_of(const char *name)
{
	return !strcmp(name, "load")     ? ACCESS_READ
		: !strcmp(name, "store") ? ACCESS_WRITE
					 : ACCESS_ATOMIC;
}

static int64_t bound(sqlite3_stmt *q, int column, int64_t address, int64_t none)
{
	if (sqlite3_column_type(q, column) == SQLITE_NULL)
		return none;
	return add_bytes(address, sqlite3_column_int64(q, column));
}

static int add_claim(struct accesses *accesses, sqlite3_stmt *q, int evidence)
{
	int64_t address = sqlite3_column_int64(q, 1);
	struct memory_access access = {
		.allocation = sqlite3_column_int64(q, 2),
		.direction = (uint8_t)direction_of((const char *)sqlite3_column_text(q, 5)),
		.evidence = (uint8_t)evidence,
		.sure = sqlite3_column_int(q, 6) != 0,
		.low = bound(q, 7, address, INT64_MIN),
		.high = bound(q, 8, address, INT64_MAX),
		.run = sqlite3_column_int64(q, 9),
		.exact = sqlite3_column_int(q, 16) != 0,
	};

	access.start = access.low;
	while (access.stride_count < ACCESS_STRIDES &&
		sqlite3_column_type(q, 10 + 2 * access.stride_count) != SQLITE_NULL) {
		int column = 10 + 2 * access.stride_count;

		access.stride[access.stride_count++] = (struct access_stride){
			sqlite3_column_int64(q, column),
			sqlite3_column_int64(q, column + 1),
		};
	}
	return access_add(accesses, &access, sqlite3_column_int64(q, 3),
		sqlite3_column_int64(q, 4));
}

static int add_word(struct accesses *accesses, sqlite3_stmt *q)
{
	struct memory_access access = {
		.allocation = sqlite3_column_int64(q, 2),
		.low = INT64_MIN,
		.high = INT64_MAX,
		.direction = ACCESS_UNKNOWN,
		.evidence = EVIDENCE_NONE,
	};

	return access_add(accesses, &access, sqlite3_column_int64(q, 3),
		sqlite3_column_int64(q, 4));
}

static int evidence_of(const char *name)
{
	if (!name || !strcmp(name, "none"))
		return EVIDENCE_NONE;
	return !strcmp(name, "ptx")      ? EVIDENCE_PTX
		: !strcmp(name, "const") ? EVIDENCE_CONST
					 : EVIDENCE_CONVENTION;
}

/* The row of reader->call is a launch, of a kernel that may not be known. */
static int read_kernel(struct access_reader *reader, int64_t call, struct accesses *accesses)
{
	int64_t kernel = sqlite3_column_type(reader->call, 4) != SQLITE_NULL
		? sqlite3_column_int64(reader->call, 4)
		: DB_NULL;
	int64_t shape = sqlite3_column_int(reader->call, 7) ? sqlite3_column_int64(reader->call, 3)
							    : DB_NULL;
	int evidence = evidence_of((const char *)sqlite3_column_text(reader->call, 6)), step;

	accesses->complete = sqlite3_column_int(reader->call, 5);
	accesses->reaches |= (unsigned)sqlite3_column_int(reader->call, 11);
	accesses->named = 1;
	if (db_bind(reader->claims, "iII", call, kernel, shape))
		return -1;
	while ((step = db_step(reader->claims)) > 0)
		if (add_claim(accesses, reader->claims, evidence))
			return -1;
	/* Of an incomplete one anything may become of all that it was given. */
	if (step < 0 || accesses->complete)
		return step;
	if (db_bind(reader->words, "iIIi", call, kernel, shape,
		    (int64_t)(evidence == EVIDENCE_PTX)))
		return -1;
	while ((step = db_step(reader->words)) > 0)
		if (add_word(accesses, reader->words))
			return -1;
	return step;
}

enum touches {
	TOUCHES_NOTHING,
	TOUCHES_ENDS,  /* its operands, to the byte */
	TOUCHES_WORDS, /* a kernel, or what was given memory like one: perhaps more, too */
};

static enum touches touches_of(enum call_kind kind)
{
	if (kind == KIND_DISCARD) /* what lay there is lost */
		return TOUCHES_WORDS;
	if (kind_has(kind, K_IDLE))
		return TOUCHES_NOTHING;
	switch (kind_family(kind)) {
	case FAMILY_copy:
	case FAMILY_set:
	case FAMILY_memory_value:
		return TOUCHES_ENDS;
	case FAMILY_placement: /* where memory lies changes, and not what is in it */
	case FAMILY_stream:
	case FAMILY_event_create:
	case FAMILY_event:
	case FAMILY_event_wait:
	case FAMILY_wait:
		return TOUCHES_NOTHING;
	default:
		return TOUCHES_WORDS;
	}
}

static int node_touches_nothing(const char *type)
{
	return !strcmp(type, "empty") || !strcmp(type, "wait") || !strcmp(type, "record") ||
		!strcmp(type, "alloc") || !strcmp(type, "free");
}

static int add_node(struct access_reader *reader, int64_t call, const char *type,
	struct accesses *accesses)
{
	accesses->named = 1;
	accesses->complete = 0;
	if (!strcmp(type, "copy") || !strcmp(type, "set"))
		return read_ends(reader, call, accesses);
	if (!strcmp(type, "kernel"))
		return read_kernel(reader, call, accesses);
	if (node_touches_nothing(type))
		accesses->complete = 1;
	else
		accesses->named = !strcmp(type, "host");
	return 0;
}

static int add_call(struct access_reader *reader, int64_t call, struct accesses *accesses)
{
	const char *kind = (const char *)sqlite3_column_text(reader->call, 0);

	accesses->named = 1;
	accesses->complete = 0;
	switch (touches_of(call_kind_named(kind))) {
	case TOUCHES_NOTHING:
		accesses->complete = 1;
		return 0;
	case TOUCHES_ENDS:
		return read_ends(reader, call, accesses);
	default:
		return read_kernel(reader, call, accesses);
	}
}

int access_add_operation(struct access_reader *reader, int64_t call, const char *node_type,
	struct accesses *accesses)
{
	int step, rc;

	if (db_bind(reader->call, "i", call))
		return -1;
	step = db_step(reader->call);
	if (step <= 0)
		return step;
	rc = node_type ? add_node(reader, call, node_type, accesses)
		       : add_call(reader, call, accesses);
	sqlite3_reset(reader->call);
	return rc;
}

int access_read(struct access_reader *reader, int64_t call, struct accesses *accesses)
{
	int step, is_graph = 0;

	accesses->count = 0;
	accesses->complete = accesses->named = 0;
	accesses->reaches = 0;
	if (db_bind(reader->call, "i", call))
		return -1;
	step = db_step(reader->call);
	if (step > 0)
		is_graph =
			!strcmp((const char *)sqlite3_column_text(reader->call, 0), "graph_launch");
	sqlite3_reset(reader->call);
	if (step <= 0)
		return step;
	return is_graph ? access_read_graph(reader, call, accesses)
			: access_add_operation(reader, call, NULL, accesses);
}
