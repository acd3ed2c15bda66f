/* SPDX-License-Identifier: Apache-2.0 */
#include "code_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "print.h"

/* Limit of an image; that of the recorder is 8 MiB.  A larger one is code_missing. */
#define IMAGE_LIMIT (64u << 20)

enum { PIECE_HASH, PIECE_OFFSET, PIECE_TOTAL, PIECE_DATA };

int code_pieces_open(struct code_pieces *pieces, struct db *db, int64_t process, int64_t hash)
{
	pieces->rows = db_prepare(db,
		hash ? "SELECT hash, offset, total, data FROM image_piece WHERE hash = ? "
		       "ORDER BY offset"
		     : "SELECT hash, offset, total, data FROM image_piece WHERE process = ? "
		       "ORDER BY hash, offset");
	pieces->step = pieces->rows && !db_bind(pieces->rows, "i", hash ? hash : process)
		? db_step(pieces->rows)
		: -1;
	return pieces->step < 0 ? -1 : 0;
}

void code_pieces_close(struct code_pieces *pieces)
{
	sqlite3_finalize(pieces->rows);
	*pieces = (struct code_pieces){ 0 };
}

/* Appends the row if it is the next piece. */
static void append(sqlite3_stmt *row, char **image, size_t *size)
{
	size_t length = (size_t)sqlite3_column_bytes(row, PIECE_DATA);

	if ((size_t)sqlite3_column_int64(row, PIECE_OFFSET) != *size ||
		length > IMAGE_LIMIT - *size)
		return;
	*image = xrealloc(*image, *size + length, 1);
	if (length)
		memcpy(*image + *size, sqlite3_column_blob(row, PIECE_DATA), length);
	*size += length;
}

int code_pieces_next(struct code_pieces *pieces, char **image, size_t *size)
{
	*image = NULL;
	while (pieces->step > 0) {
		int64_t hash = sqlite3_column_int64(pieces->rows, PIECE_HASH);
		size_t total = (size_t)sqlite3_column_int64(pieces->rows, PIECE_TOTAL);

		*size = 0;
		while (pieces->step > 0 && sqlite3_column_int64(pieces->rows, PIECE_HASH) == hash) {
			append(pieces->rows, image, size);
			pieces->step = db_step(pieces->rows);
		}
		if (*image && *size == total && pieces->step >= 0)
			return 1;
		free(*image);
		*image = NULL;
	}
	return pieces->step;
}
