/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of cuBLAS, cuDNN and CUTLASS that multiply matrices or convolve.  Their names are lists
 * of words: "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_...".
 */
#ifndef CUFENCE_PRODUCT_H
#define CUFENCE_PRODUCT_H

#include <stddef.h>

/* Writes "gemm (f16, 128x128x64)".  Returns 0 if the name is not one of these. */
int product_write(const char *name, char *text, size_t size);

#endif
