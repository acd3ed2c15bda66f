/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	CALL(simrt_driver.cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	CALL(simrt_driver.cuEventCreate(event, CU_EVENT_DEFAULT));
}
