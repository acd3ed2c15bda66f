/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose duration kernels of other devices determine, for which they wait. */
#ifndef CUFENCE_REMOTE_KERNELS_H
#define CUFENCE_REMOTE_KERNELS_H

/* SQL: whether a kernel of that name is one: NCCL's and NVSHMEM's. */
#define WAITS_FOR_OTHER_DEVICES(name) "(" name " LIKE 'nccl%' OR " name " LIKE '%nvshmem%')"

/* SQL: the names of collectives that no rank leaves before all have come. */
#define MEETING_COLLECTIVES "'ncclAllReduce', 'ncclAllGather', 'ncclReduceScatter', 'ncclAlltoAll'"

#endif
