/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels in texts: the base name, with template arguments where several kernels of the
 * run share the base name.
 */
#ifndef CUFENCE_KERNEL_NAMES_H
#define CUFENCE_KERNEL_NAMES_H

#include "db.h"

/* SQL for the text of a kernel.  The argument is the name or alias of table kernel. */
/* clang-format off */
#define KERNEL_LABEL(kernel) \
	"ifnull((SELECT kn.label FROM kernel_name kn WHERE kn.kernel = " kernel ".id), " \
	kernel ".name)"
/* clang-format on */

/* Fills kernel_name, in one transaction.  0, or -1 after a message. */
int kernel_names_resolve(struct db *db);

#endif
