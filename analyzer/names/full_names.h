/* SPDX-License-Identifier: Apache-2.0 */
/* Whole names of kernels where texts have short ones (kernel_names.h). */
#ifndef CUFENCE_FULL_NAMES_H
#define CUFENCE_FULL_NAMES_H

#include "db.h"

/*
 * For a connection that writes one report: temporary tables, which SQLite finds before those of the
 * same name, let it read whole names.  Returns 0, or -1 after a message.
 */
int full_names_use(struct db *db);

#endif
