/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by run_*.c: reading a run from a database. */
#ifndef CUFENCE_RUN_INTERNAL_H
#define CUFENCE_RUN_INTERNAL_H

#include "run_build.h"
#include "run_columns.h"

/* A query, its current row, and whether one of its ids was invalid. */
struct run_reader {
	struct run *run;
	struct db *db;
	const char *table;
	sqlite3_stmt *rows;
	int wrong;
};

/* Returns 0, or -1 after a message; call run_reader_close() in both cases. */
int run_reader_open(struct run_reader *reader, struct run *run, struct db *db, const char *table,
	const char *sql);

/* Returns 1: a row, 0: done, -1: failed after a message, also if the previous row was invalid. */
int run_reader_next(struct run_reader *reader);
void run_reader_close(struct run_reader *reader);

/* Returns 0 for NULL. */
uint32_t run_reader_id(struct run_reader *reader, int column);
int64_t run_reader_time(struct run_reader *reader, int column);

/* Returns the largest id of a table, 0 if empty; -1 after a message. */
int64_t run_last_id(struct db *db, const char *table);

/* Allocates rows of a table by id; NULL after a message. */
void *run_new_rows(struct db *db, const char *table, size_t row_size, size_t *count);

/* Returns the index in names[], 0 for other names and NULL. */
unsigned run_name(const char *const *names, unsigned count, const unsigned char *name);

/* Set of rows, to give equal rows the same number: slots are found by a hash of the row. */
struct run_seen {
	uint32_t *slot; /* 0: free */
	size_t size, count;
};

/*
 * Returns the number of an equal row; else adds the row under number and returns that. 0 when out
 * of memory. rows: row_size bytes each, a multiple of 8; row 0 is unused.
 */
uint32_t run_seen_need(struct run_seen *seen, const void *rows, const void *row, size_t row_size,
	uint32_t number);
void run_seen_release(struct run_seen *seen);

/* State while rows are added. */
struct run_building {
	struct run_seen payloads, where;
	int joined;   /* works are already joined (work.h) */
	int left_out; /* rows without space were dropped */
};
void run_building_free(struct run *run);

/*
 * Opens a column for as many rows as count_sql returns.  Tables without an INTEGER PRIMARY KEY are
 * counted; an index makes that fast.
 */
int run_open_list(struct column *list, struct run *run, struct db *db, const char *count_sql,
	size_t row_size);

int run_read_calls(struct run *run, struct db *db);
int run_read_works(struct run *run, struct db *db);
int run_read_operands(struct run *run, struct db *db);
int run_read_launches(struct run *run, struct db *db);
int run_read_code(struct run *run, struct db *db);
int run_read_tables(struct run *run, struct db *db); /* those by id */
int run_read_lists(struct run *run, struct db *db);  /* those in order of call */

#endif
