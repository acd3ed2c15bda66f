/* SPDX-License-Identifier: Apache-2.0 */
#include "concurrency.h"

#include <string.h>

#include "calls.h"

int shapes_open(struct shapes *shapes, struct db *db)
{
	shapes->rows = db_prepare(db,
		"SELECT o.kind, o.copy_kind, c.grid, c.block, "
		"d.sm_count, d.threads_per_sm, d.blocks_per_sm FROM work o "
		"LEFT JOIN call c ON c.id = o.call "
		"LEFT JOIN device d ON d.process = o.process AND d.ordinal = o.device "
		"WHERE o.id = ?");
	return shapes->rows ? 0 : -1;
}

void shapes_close(struct shapes *shapes)
{
	sqlite3_finalize(shapes->rows);
	shapes->rows = NULL;
}

static double part(uint64_t grid, uint64_t block, int64_t sms, int64_t threads_per_sm,
	int64_t blocks_per_sm)
{
	double blocks = (double)GRID_X(grid) * (double)GRID_Y(grid) * (double)GRID_Z(grid);
	double threads =
		blocks * (double)BLOCK_X(block) * (double)BLOCK_Y(block) * (double)BLOCK_Z(block);
	double by_threads, by_blocks;

	if (sms <= 0 || threads_per_sm <= 0)
		return 0;
	by_threads = threads / (double)(sms * threads_per_sm);
	by_blocks = blocks_per_sm > 0 ? blocks / (double)(sms * blocks_per_sm) : 0;
	return by_threads > by_blocks ? by_threads : by_blocks;
}

int shape_read(struct shapes *shapes, int64_t op, struct shape *shape)
{
	sqlite3_stmt *q = shapes->rows;
	int rc = db_bind(q, "i", op) ? -1 : db_step(q);
	const char *kind;

	*shape = (struct shape){ .kind = 'o' };
	if (rc > 0) {
		kind = (const char *)sqlite3_column_text(q, 0);
		shape->kind = !strcmp(kind, "kernel") ? 'k'
			: !strcmp(kind, "memcpy")     ? 'c'
			: !strcmp(kind, "memset")     ? 's'
						      : 'o';
		shape->copy_kind = sqlite3_column_int64(q, 1);
		if (shape->kind == 'k')
			shape->part = part((uint64_t)sqlite3_column_int64(q, 2),
				(uint64_t)sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
				sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6));
	}
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

int shape_can_overlap(const struct shape *a, const struct shape *b)
{
	if (a->kind == 'c' && b->kind == 'c')
		return a->copy_kind != b->copy_kind;
	if (a->kind == 'c' || b->kind == 'c')
		return 1;
	return a->part < 1 && b->part < 1;
}
