/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice in place of a rule's: about calls that a library makes below a line of the program
 * (libraries.def), where the program cannot change the call, but how it uses the library; and about
 * a line of a script that reads a value of the device by an operator of its library (reads.def),
 * which may hide that it does.
 */
#ifndef CUFENCE_ADVICE_H
#define CUFENCE_ADVICE_H

#include <stdint.h>

#include "db.h"

struct code_frames;

/* Each sets *advice to that for a driver call, NULL: none.  Returns 0, or -1 after a message. */
int library_advice(struct db *db, int64_t call, const char **advice);
int read_advice(struct code_frames *frames, int64_t call, const char **advice);

#endif
