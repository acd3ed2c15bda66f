/* SPDX-License-Identifier: Apache-2.0 */
/* What the files run_*.c share: a run while it is read from a database. */
#ifndef CUFENCE_RUN_PARTS_H
#define CUFENCE_RUN_PARTS_H

#include "run_build.h"
#include "run_columns.h"

/* A query, its present row, and whether an id of its rows cannot be one. */
struct run_reader {
	struct run *run;
	struct db *db;
	const char *table;
	sqlite3_stmt *rows;
	int wrong;
};

/* 0, or -1 after a message; run_reader_close() even then. */
int run_reader_open(struct run_reader *reader, struct run *run, struct db *db, const char *table,
	const char *sql);

/* 1: a row, 0: done, -1: failed after a message, as where the row before was wrong. */
int run_reader_next(struct run_reader *reader);
void run_reader_close(struct run_reader *reader);

/* 0 for NULL. */
uint32_t run_reader_id(struct run_reader *reader, int column);
int64_t run_reader_time(struct run_reader *reader, int column);

/* The largest id of a table, 0 without rows; -1 after a message. */
int64_t run_last_id(struct db *db, const char *table);

/* Room for rows of a table by id; NULL after a message. */
void *run_new_rows(struct db *db, const char *table, size_t row_size, size_t *count);

/* One of names[] as its index, 0 for others and NULL. */
unsigned run_name(const char *const *names, unsigned count, const unsigned char *name);

/* Rows that were seen, to give equal ones the same number: a hash of the row leads to it. */
struct run_seen {
	uint32_t *slot; /* 0: free */
	size_t size, count;
};

/* The number of the row that is equal to row, or number, by which it is remembered; 0 when out of
 * memory.  rows: of row_size bytes, which are a multiple of 8; row 0 is none. */
uint32_t run_seen_need(struct run_seen *seen, const void *rows, const void *row, size_t row_size,
	uint32_t number);
void run_seen_release(struct run_seen *seen);

/* While rows are added. */
struct run_building {
	struct run_seen payloads, where;
	size_t where_room;
	int joined;   /* works are those of work.h already */
	int left_out; /* rows for which there was no room */
};
void run_building_free(struct run *run);

/*
 * Opens a column for the rows of a table that count_sql counts.  One without an INTEGER PRIMARY KEY
 * has a count, and an index of it answers quickly.
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
