/* SPDX-License-Identifier: Apache-2.0 */
/* Images made in memory, assembled from the rows of image_piece. */
#ifndef CUFENCE_CODE_PIECES_H
#define CUFENCE_CODE_PIECES_H

#include <stddef.h>

#include "db.h"

struct code_pieces {
	sqlite3_stmt *rows;
	int step; /* 1: at an unread row; 0: at the end */
};

/*
 * Selects the images of a process; with hash != 0 that image, whichever process loaded it.  Returns
 * 0, or -1 after a message.
 */
int code_pieces_open(struct code_pieces *pieces, struct db *db, int64_t process, int64_t hash);
void code_pieces_close(struct code_pieces *pieces);

/*
 * Returns 1 and the next complete image, to be freed by the caller; 0 at the end, -1 after a
 * message.
 */
int code_pieces_next(struct code_pieces *pieces, char **image, size_t *size);

#endif
