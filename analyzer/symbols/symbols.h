/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses: function, file and line of every frame, through libdw, from the files
 * the traced process had mapped.  A file whose build id is no longer the recorded one is not
 * believed: its frames stay "module+0xoffset".
 *
 * The room symbols/ finds out what an address is, from files, once; names/ says it to people.
 */
#ifndef CUFENCE_SYMBOLS_H
#define CUFENCE_SYMBOLS_H

#include "db.h"

/*
 * Rewrites frame (inlined frames get rows of their own, user is decided) and fills in site.
 * In one transaction; 0, or -1 after a message.  Files that cannot be read are no failure.
 */
int symbols_resolve(struct db *db);

#endif
