/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that a command writes.  A symbolic link is followed as the kernel follows it with
 * fs.protected_symlinks (proc_sys_fs(5)), whatever its setting: in a folder that is sticky and that
 * all may write to, only a link of the folder's owner or one's own.
 */
#ifndef CUFENCE_OUTPUT_H
#define CUFENCE_OUTPUT_H

/* The file that path leads to, which need not exist: malloc'ed, or NULL after a message. */
char *output_target(const char *path);

#endif
