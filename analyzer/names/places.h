/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites as the places a person sees.  A recorded site is a set of return addresses; an
 * unrolled loop makes several of one line.  Sites whose user frames have the same functions and
 * lines are one place, and stand for it by the one met first.  Several places share a line that is
 * reached from several callers, as that of a destructor.
 */
#ifndef CUFENCE_PLACES_H
#define CUFENCE_PLACES_H

#include <stdint.h>
#include <stdio.h>

#include "db.h"
#include "words.h"

struct places;

/* NULL after a message; words stay the caller's. */
struct places *places_open(struct db *db, struct words *words);
void places_close(struct places *places);

/* The site of the outermost recorded call that a call was made from, else the call's own; 0: not
 * known, or no call; -1 after a message. */
int64_t places_site(struct places *places, int64_t call);

/* The site that stands for all of a line, whoever called it, likewise. */
int64_t places_line(struct places *places, int64_t call);

/*
 * Writes " function#ordinal" of a call's site: the ordinal counts the function's lines with the
 * same kind of call, so that it survives edits elsewhere.  Without a function " file@id+0xoffset",
 * with the first 12 digits of the build id, which holds for this build only; " ?" if not even the
 * file is known.
 */
int places_say(struct places *places, int64_t call, int64_t site, FILE *out);

#endif
