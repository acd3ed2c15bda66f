/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program did before its loop.  A load of code kept it in order before what came later, and
 * no turn does it again: such a pair is possible only.
 */
#ifndef CUFENCE_SET_UP_H
#define CUFENCE_SET_UP_H

#include "db.h"

/*
 * Lowers the confidence of such rows of table hazard; needs table loop and db->run.  Returns 0, or
 * -1 after a message.
 */
int set_up_find(struct db *db);

#endif
