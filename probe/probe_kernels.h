/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe's kernels, launched with one thread unless stated otherwise.  Kernels with a
 * number are many of a kind, for effects of the first use: each number below PROBE_FRESH is a
 * kernel of its own.
 */
#ifndef CUFENCE_PROBE_KERNELS_H
#define CUFENCE_PROBE_KERNELS_H

#include <cuda_runtime_api.h>

#define PROBE_FRESH 20
#define PROBE_GROWING 3

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t probe_spin(cudaStream_t stream, unsigned long long ns);

/* The spinning kernel itself, a kernel never used and a variable, as the runtime names them. */
const void *probe_spin_function(void);
const void *probe_fresh_function(unsigned number);
const void *probe_variable(void);

cudaError_t probe_fresh(cudaStream_t stream, unsigned number);

/* Never launched, for cudaFuncGetAttributes. */
const void *probe_attributes_function(unsigned number);

/* Needs more local memory than that of a lower number; number < PROBE_GROWING. */
cudaError_t probe_local(cudaStream_t stream, unsigned number);

/* Prints nothing, but could. */
cudaError_t probe_print(cudaStream_t stream);

/* Adds to *wrong how many of the words are not expected: a full grid. */
cudaError_t probe_compare(cudaStream_t stream, const unsigned *words, size_t count,
	unsigned expected, unsigned *wrong);

#ifdef __cplusplus
}
#endif

#endif
