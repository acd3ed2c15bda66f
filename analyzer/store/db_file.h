/* SPDX-License-Identifier: Apache-2.0 */
/* Database files: checking a path and opening it. */
#ifndef CUFENCE_DB_FILE_H
#define CUFENCE_DB_FILE_H

#include "db.h"

/* Opens the file at path, with flags of sqlite3_open_v2().  Returns 0, or -1 after a message. */
int db_file_open(struct db *db, const char *path, int flags);

#endif
