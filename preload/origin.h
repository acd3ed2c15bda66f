/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process was given when it began.  By the first CUDA call the program may have cleaned
 * its environment, gone to another folder and closed the descriptors it did not know.
 */
#ifndef CUFENCE_ORIGIN_H
#define CUFENCE_ORIGIN_H

/* A CUFENCE_ variable: as the program set it itself, else as it was then; NULL: neither. */
const char *origin_setting(const char *name);

/* Says which settings have values that mean nothing, and are ignored. */
void origin_check_settings(void);

/* The folder for traces: CUFENCE_OUT seen from where the process began, or that folder. */
const char *origin_folder(void);

/* Writes a message to stderr, if that is still what it was: not into a file of the program's. */
void origin_say(const char *text);

#endif
