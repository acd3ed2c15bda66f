/* SPDX-License-Identifier: Apache-2.0 */
/* The traced processes that a command line names: process ids, --all, --session and --folder. */
#ifndef CUFENCE_TARGETS_H
#define CUFENCE_TARGETS_H

#include "command.h"
#include "traced.h"

/*
 * All that are being traced, but for the choice of -s and --folder: 0, or -1 after a message.  The
 * operands are not looked at.
 */
int targets_find(const struct arguments *arguments, struct traced_list *list);

/*
 * Those that the operands name, too; without operands all, if all are meant.  It is an error if
 * there is none.
 */
int targets_choose(const struct arguments *arguments, int all, struct traced_list *list);

#endif
