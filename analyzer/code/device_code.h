/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device code of a process's kernels: of each the image that it was loaded from, which lies in
 * a file of the program's or was made in memory.  Of kernels whose image is not known (recorded by
 * version 1.0, or loaded by a way the recorder does not see) all images made in memory and then the
 * files that calls came from are searched.
 */
#ifndef CUFENCE_DEVICE_CODE_H
#define CUFENCE_DEVICE_CODE_H

#include "code_part.h"
#include "db.h"

struct code;

/* For all processes of a load; NULL after a message. */
struct code *code_open(struct db *db);
void code_close(struct code *code);

struct code_kernel {
	struct code_place at; /* until the next question */
	int prints;           /* by its cubins: 1, 0 or -1: not known */
	const char *why;      /* there is no module, a constant string */
};

/*
 * Where a kernel is, by its row and mangled name.  Quick if kernels are asked for by image, then by
 * process: several processes may have the same.  0, or -1 after a message.
 */
int code_find(struct code *code, int64_t process, int64_t kernel, const char *mangled,
	struct code_kernel *found);

/* So many kernels had an image that was not found, so many one that takes too much to read. */
void code_count(const struct code *code, int64_t *missing, int64_t *refused);

#endif
