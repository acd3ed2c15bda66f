/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for the interpreter of PTX: each instruction of a kernel becomes one or a few of
 * struct ptx_instruction, on registers that are renamed so that most are written once.
 */
#ifndef CUFENCE_LOWER_H
#define CUFENCE_LOWER_H

#include "ptx.h"

/*
 * The kernels of a cubin for that architecture (image_code.arch), which must outlive the module;
 * each is lowered when it is first asked for.  To be closed by ptx_close().  NULL after error.
 */
struct ptx_module *machine_open(const void *cubin, size_t size, unsigned arch,
	char error[IMAGE_ERROR_SIZE]);

#endif
