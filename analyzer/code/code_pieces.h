/* SPDX-License-Identifier: Apache-2.0 */
/* Images made in memory, put together from the rows of image_piece. */
#ifndef CUFENCE_CODE_PIECES_H
#define CUFENCE_CODE_PIECES_H

#include <stddef.h>

#include "db.h"

struct code_pieces {
	sqlite3_stmt *rows;
	int step; /* 1: on a row that was not looked at yet; 0: at the end */
};

/* Those of a process, or with hash != 0 that one, whoever loaded it.  0, or -1 after a message. */
int code_pieces_open(struct code_pieces *pieces, struct db *db, int64_t process, int64_t hash);
void code_pieces_close(struct code_pieces *pieces);

/* The next one that is whole, the caller's to free.  1, 0 at the end, -1 after a message. */
int code_pieces_next(struct code_pieces *pieces, char **image, size_t *size);

#endif
