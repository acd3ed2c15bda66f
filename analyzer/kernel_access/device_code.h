/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the device code of kernels, in the image that each was loaded from: in a file of the
 * program, or made in memory.  For kernels without a known image (recorded by version 1.0, or
 * loaded in a way that the recorder does not record), all images made in memory and then the files
 * that calls came from are searched.
 */
#ifndef CUFENCE_DEVICE_CODE_H
#define CUFENCE_DEVICE_CODE_H

#include "code_part.h"
#include "db.h"

struct code;

/* Opens the code of all processes of a load.  Returns NULL after a message. */
struct code *code_open(struct db *db);
void code_close(struct code *code);

struct code_kernel {
	struct code_place at; /* valid until the next code_find() */
	int prints;           /* from the cubins: 1, 0 or -1 for unknown */
	const char *why;      /* why there is no module, a constant string */
};

/*
 * Finds a kernel by its row and mangled name.  Fast if kernels are queried by image, then by
 * process: several processes may share an image.  Returns 0, or -1 after a message.
 */
int code_find(struct code *code, int64_t process, int64_t kernel, const char *mangled,
	struct code_kernel *found);

/* Counts kernels whose image was not found, and kernels whose image takes too much to read. */
void code_count(const struct code *code, int64_t *missing, int64_t *refused);

#endif
