/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers machine code for the PTX interpreter: each instruction of a kernel becomes one or a few
 * struct ptx_instruction.  Registers are renamed so that most are written once.
 */
#ifndef CUFENCE_LOWER_H
#define CUFENCE_LOWER_H

#include "ptx.h"

/*
 * Opens the kernels of a cubin for that architecture (image_code.arch).  The cubin must outlive the
 * module.  Each kernel is lowered when first used.  Closed by ptx_close().  Returns NULL with a
 * message in error.
 */
struct ptx_module *machine_open(const void *cubin, size_t size, unsigned arch,
	char error[IMAGE_ERROR_SIZE]);

#endif
