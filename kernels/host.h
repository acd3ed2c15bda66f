/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nvcc includes before a source and declares for its launches, for sources without kernels,
 * which the host's compiler takes by itself (kernels/launches.sed), and the headers that most of
 * them have: compiled once.
 */
#ifndef CUFENCE_HOST_H
#define CUFENCE_HOST_H

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
	struct CUstream_st *stream = 0);

#include "kernels.h"

#endif
