/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one table and database in an export (fleet.h): one for each rank and hour, made with
 * its first row.  They are written next to their names and renamed at the end.
 */
#ifndef CUFENCE_FLEET_FILES_H
#define CUFENCE_FLEET_FILES_H

#include <stddef.h>
#include <stdint.h>

struct fleet_file;

struct fleet_files {
	const char *folder, *table, *run;
	const char *name;   /* of each file, without ending */
	const char *header; /* the first line of each, with its end */
	struct fleet_file *file;
	size_t count, last; /* files; the one that was asked for last */
	size_t open;
};

/* For a row that is of no rank; the name is the one that engines read as NULL. */
#define FLEET_NO_RANK INT64_MIN
#define FLEET_NULL_NAME "__HIVE_DEFAULT_PARTITION__"

/*
 * Returns the file for rows of a rank and an hour (since 1970, UTC; FLEET_NO_RANK: of no hour),
 * valid until the next call.  NULL after a message.
 */
struct fleet_file *fleet_file(struct fleet_files *files, int64_t rank, int64_t hour);

/* Errors show at the end. */
void fleet_put(struct fleet_file *file, const void *bytes, size_t count);

/* Gives the files their names; keep 0: removes them.  0, or -1 after a message. */
int fleet_files_close(struct fleet_files *files, int keep);

#endif
