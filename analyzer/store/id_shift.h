/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of the ids of a trace that was loaded by itself, where its rows follow those of
 * other traces: schema.def says which columns have ids, and of which table.
 */
#ifndef CUFENCE_ID_SHIFT_H
#define CUFENCE_ID_SHIFT_H

#include "schema.h"

struct id_shift {
	int64_t by[TABLE_COUNT]; /* added to ids of that table */
	uint32_t *call_type;     /* by id: traces share the rows of that table */
};

/* Of a table that is none (-1), a number stays as it is; so does NULL. */
static inline int64_t id_shifted(const struct id_shift *shift, int table, int64_t id)
{
	if (table < 0 || id == DB_NULL)
		return id;
	return table == TABLE_call_type ? shift->call_type[id] : id + shift->by[table];
}

/* The table whose ids a column has, -1: none. */
static inline int id_table(const struct schema_column *column, enum schema_id table)
{
	return column->target < 0 && column->null == SCHEMA_IS_KEY && column->type == SQLITE_INTEGER
		? (int)table
		: column->target;
}

#endif
