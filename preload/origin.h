/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's environment, folder and stderr at its start.  Before its first CUDA call the
 * program may change its environment or folder and close descriptors.
 */
#ifndef CUFENCE_ORIGIN_H
#define CUFENCE_ORIGIN_H

/* Returns a CUFENCE_ variable: as set by the program itself, else as at the start; NULL: unset. */
const char *origin_setting(const char *name);

/* Reports settings with invalid values, which are ignored. */
void origin_check_settings(void);

/* The folder for traces: CUFENCE_OUT relative to the initial folder, or that folder. */
const char *origin_folder(void);

/* Writes a message to stderr, unless the program has redirected it to a file of its own. */
void origin_print_message(const char *text);

#endif
