/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PTX of a process: of the files that its calls came from, and of images that it loaded from
 * memory.  A kernel is looked for by its mangled name in one after the other, and these are read
 * when they are needed.  Of the kernels that are there as cubins alone, only what their calls say.
 */
#ifndef CUFENCE_CODE_H
#define CUFENCE_CODE_H

#include "db.h"
#include "ptx.h"

struct code;

/* Of a process, by its row; NULL after a message. */
struct code *code_open(struct db *db, int64_t process);
void code_close(struct code *code);

/* Whether a kernel may call printf, by its cubins: 1, 0, or -1: not known. */
int code_prints(struct code *code, const char *mangled);

/* The module that has the kernel, and its number there; NULL: none has it. */
struct ptx_module *code_find(struct code *code, const char *mangled, size_t *kernel);

#endif
