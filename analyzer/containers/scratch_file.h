/* SPDX-License-Identifier: Apache-2.0 */
/* A file without a name, in the folder TMPDIR, else in /var/tmp, else in /tmp. */
#ifndef CUFENCE_SCRATCH_FILE_H
#define CUFENCE_SCRATCH_FILE_H

/*
 * Opens an empty one, which the caller closes.  Sets *folder, a constant or of the environment,
 * also when it fails.  Returns -1 and sets errno when it fails.
 */
int scratch_file_open(const char **folder);

#endif
