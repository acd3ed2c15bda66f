/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells about other processes. */
#ifndef CUFENCE_PROCESS_H
#define CUFENCE_PROCESS_H

#include <stddef.h>

/* Returns whether a process is ancestor itself or comes from it; 0 also if it has ended. */
int process_descends(long pid, long ancestor);

/* Returns whether a file of /proc/PID contains these bytes; 0 also if it cannot be read. */
int process_has_bytes(long pid, const char *file, const char *bytes, size_t length);

/* Returns whether a process has a file of that folder mapped to write to it; 0 if it has ended. */
int process_writes_below(long pid, const char *folder);

/*
 * Returns whether all processes of the machine are visible here: whether this is the first pid
 * namespace.  0 in containers.
 */
int process_sees_all(void);

#endif
