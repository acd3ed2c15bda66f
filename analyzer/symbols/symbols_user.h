/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a frame's code is the user's.  Reports name the first such frame; CUDA's libraries, the
 * C library, Python itself, a cudart linked into the program and the host stubs nvcc makes for
 * kernels are not.
 */
#ifndef CUFENCE_SYMBOLS_USER_H
#define CUFENCE_SYMBOLS_USER_H

#include "symbols_file.h"

/* A file of CUDA's, Python's or the system's, by its name: its frames are not the user's. */
int module_is_system(const char *path);

/* A library of CUDA's like cuBLAS; the driver, the runtime, CUPTI or the recorder. */
int module_is_library(const char *path);
int module_is_runtime(const char *path);

/* The cudart function that this frame is, NULL if it is none: a static cudart's entry points. */
const char *frame_runtime_name(const struct source_frame *frame);

/*
 * CUDA's own code inside a user's module: header inlines, host stubs, cudart's internals, Thrust
 * and CUB.  And the C++ library, as where a shared_ptr calls the cudaFree that it was given.
 */
int frame_is_library(const struct source_frame *frame);

/* CUDA's own code by its name alone, without the libraries of templates. */
int symbol_is_cuda(const char *symbol);

#endif
