/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How kernels are called in texts: by their base name, and where several kernels of a run have that
 * name, by their template arguments, too.
 */
#ifndef CUFENCE_KERNEL_NAMES_H
#define CUFENCE_KERNEL_NAMES_H

#include "db.h"

/* The text for a kernel, by the table's name or alias in a query. */
/* clang-format off */
#define KERNEL_LABEL(kernel) \
	"ifnull((SELECT kn.label FROM kernel_name kn WHERE kn.kernel = " kernel ".id), " \
	kernel ".name)"
/* clang-format on */

/* Fills kernel_name, in one transaction.  0, or -1 after a message. */
int kernel_names_resolve(struct db *db);

#endif
