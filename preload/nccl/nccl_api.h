/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of NCCL's functions, under the names of nccl.h, for machines without it.  Where it is
 * there, check_nccl.c compares the prototypes of calls.def.
 */
#ifndef CUFENCE_NCCL_API_H
#define CUFENCE_NCCL_API_H

#include <cuda.h>

typedef int ncclResult_t, ncclDataType_t, ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct ncclConfig ncclConfig_t;
typedef CUstream cudaStream_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

/* ncclResult_t */
enum { NCCL_SUCCESS = 0, NCCL_SYSTEM_ERROR = 2, NCCL_IN_PROGRESS = 7 };

#endif
