/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols_script.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "record.h"
#include "script.h"
#include "python_lines.h"

struct script_code {
	uint32_t number;
	unsigned version, first_line;
	char *name, *file;
	uint8_t *table;
	size_t table_length;
};

/* A column as it is, with a NUL after it. */
static void *column(sqlite3_stmt *row, int number)
{
	const void *bytes = sqlite3_column_blob(row, number);
	size_t length = (size_t)sqlite3_column_bytes(row, number);
	char *copied = xcalloc(length + 1, 1);

	if (length)
		memcpy(copied, bytes, length);
	return copied;
}

static void add(struct script_space *space, sqlite3_stmt *row)
{
	*array_push(space->code, space->count) = (struct script_code){
		.number = (uint32_t)sqlite3_column_int64(row, 0),
		.version = (unsigned)sqlite3_column_int(row, 1),
		.first_line = (unsigned)sqlite3_column_int(row, 2),
		.name = column(row, 3),
		.file = column(row, 4),
		.table = column(row, 5),
		.table_length = (size_t)sqlite3_column_bytes(row, 5),
	};
}

int script_space_read(struct script_space *space, struct db *db, int64_t process)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT number, version, first_line, name, file, "
		"line_table FROM code WHERE process = ? ORDER BY number");
	int step = -1;

	if (q && !db_bind(q, "i", process))
		while ((step = db_step(q)) > 0)
			add(space, q);
	sqlite3_finalize(q);
	return step;
}

static int compare_number(const void *key, const void *element)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct script_code *)element)->number;

	return a < b ? -1 : a > b;
}

/* Only the program's own files are read. */
static int find_loop(struct script_space *space, const struct script_code *code, int line)
{
	uint64_t key = (uint64_t)code->number << 32 | (uint32_t)line;
	uint64_t known = map_get(&space->loops, key, UINT64_MAX);

	if (known != UINT64_MAX)
		return (int)known;
	known = (uint64_t)python_loop(&space->sources, code->file, space->until,
		(int)code->first_line, line);
	/* Without memory it is asked again. */
	map_set(&space->loops, key, known);
	return (int)known;
}

int script_space_lookup(struct script_space *space, uint64_t address, struct source_frame *frame)
{
	uint32_t number = SCRIPT_CODE(address);
	const struct script_code *code = space->count
		? bsearch(&number, space->code, space->count, sizeof(*code), compare_number)
		: NULL;

	enum script_origin origin;

	*frame = (struct source_frame){ 0 };
	if (!code)
		return -1;
	origin = script_origin(code->file, strlen(code->file));
	*frame = (struct source_frame){
		.name = code->name,
		.file = code->file,
		.line = python_line(code->version, code->first_line, code->table,
			code->table_length, SCRIPT_OFFSET(address)),
	};
	if (origin == SCRIPT_OWN && frame->line > 0)
		frame->loop = find_loop(space, code, frame->line);
	return (int)origin;
}

void script_space_release(struct script_space *space)
{
	for (size_t i = 0; i < space->count; i++) {
		free(space->code[i].name);
		free(space->code[i].file);
		free(space->code[i].table);
	}
	free(space->code);
	script_sources_release(&space->sources);
	map_release(&space->loops);
	*space = (struct script_space){ 0 };
}
