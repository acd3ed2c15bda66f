/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice about a line of a script that reads a value of the device by an operator of its library
 * (reads.def), which may hide that it does.
 */
#ifndef CUFENCE_READS_H
#define CUFENCE_READS_H

#include <stdint.h>

struct code_frames;

/* Sets *advice to that for a driver call, NULL: none.  Returns 0, or -1 after a message. */
int read_advice(struct code_frames *frames, int64_t call, const char **advice);

#endif
