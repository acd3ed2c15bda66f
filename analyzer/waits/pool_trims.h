/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a stream-ordered pool gave back in a wait and mapped again later.  "When more than
 * the release threshold bytes of memory are held by the memory pool, the allocator will try to
 * release memory back to the OS on the next call to stream, event or device synchronize", and the
 * threshold is 0 by default (CUDA runtime API, cudaMemPoolAttrReleaseThreshold).  Such a wait
 * returns late, after the device has finished, and the cudaMallocAsync that maps the memory again
 * takes longer than usual.
 */
#ifndef CUFENCE_POOL_TRIMS_H
#define CUFENCE_POOL_TRIMS_H

#include "run_columns.h"

/*
 * Fills run_evidence.trim and .trimmed.  Returns 0, or -1 after a message.
 *
 * Pools of a device are not distinguished, and after a process has raised the threshold of any pool
 * nothing counts as trimmed.
 */
int pool_trims_find(struct run *run);

#endif
