/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups call sites into places as a user sees them.  A recorded site is a chain of return
 * addresses, so an unrolled loop makes several sites of one line.  Sites whose user frames have the
 * same functions and lines are one place; the first of them represents it.  A line that several
 * callers reach, such as one in a destructor, has several places.
 */
#ifndef CUFENCE_PLACES_H
#define CUFENCE_PLACES_H

#include <stdint.h>
#include <stdio.h>

#include "db.h"
#include "words.h"

struct places;

/* NULL after a message.  The caller keeps words. */
struct places *places_open(struct db *db, struct words *words);
void places_close(struct places *places);

/*
 * Returns the site of the outermost recorded call that contains a call, else the call's own. 0:
 * unknown, or no call; -1 after a message.
 */
int64_t places_site(struct places *places, int64_t call);

/* The site that represents a line, for all its callers.  Returns as above. */
int64_t places_line(struct places *places, int64_t call);

/* The same of a site instead of a call's. */
int64_t places_site_of(struct places *places, int64_t site);
int64_t places_line_of(struct places *places, int64_t site);

/*
 * Writes " function#ordinal" of a call's site: the ordinal counts the function's lines with the
 * same kind of call, so that edits elsewhere do not change it.  Without a function the text is
 * " file@id+0xoffset" with the first 12 digits of the build id, valid for this build only; " ?" if
 * the file is unknown too.
 */
int places_print(struct places *places, int64_t call, int64_t site, FILE *out);

#endif
