/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only if the rows of calls.def have the prototypes of nccl.h, where that is installed. */
#if __has_include(<nccl.h>)
#include <nccl.h>

#include "calls.h"

/* ncclConfig_t is since 2.14; a function that this version does not have is only declared. */
#if NCCL_VERSION_CODE >= 21400
#define NCCL(symbol, params, args, fields, kind) ncclResult_t symbol params;
#include "calls.def"
#endif
#endif
