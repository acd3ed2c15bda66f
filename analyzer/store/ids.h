/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFENCE_IDS_H
#define CUFENCE_IDS_H

#include "db.h"
#include "map.h"

/*
 * Adds the rows of a query to a map: the first column, and as its value the second one, or value if
 * there is none.  Returns 0, or -1 after a message.
 */
int ids_read(struct map *ids, struct db *db, const char *sql, uint64_t value);

#endif
