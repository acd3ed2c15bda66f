/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that a command writes.  A symbolic link is followed as the kernel follows it with
 * fs.protected_symlinks (proc_sys_fs(5)), whatever its setting: in a folder that is sticky and that
 * all may write to, only a link of the folder's owner or one's own.
 */
#ifndef CUFENCE_OUTPUT_H
#define CUFENCE_OUTPUT_H

#include <stdio.h>

/* The file that path leads to, which need not exist: malloc'ed, or NULL after a message. */
char *output_target(const char *path);

/*
 * A file that is written next to the one that it replaces, and renamed when it is complete: a
 * reader that opens path meanwhile gets the previous one.  Pipes and devices, and files in a folder
 * without write permission, are written to directly.
 */
struct output {
	FILE *file;
	const char *path;
	char *target, *temporary; /* temporary NULL: written directly */
};

/* Returns 0, or -1 after a message that begins with the command's name. */
int output_open(struct output *output, const char *command, const char *path);

/*
 * Ends an opened output.  keep 0: what was written is discarded, and the previous file stays.
 * Returns 0, or -1 after a message.
 */
int output_close(struct output *output, const char *command, int keep);

#endif
