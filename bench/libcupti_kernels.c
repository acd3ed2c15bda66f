/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI alone costs: preloaded, it enables CONCURRENT_KERNEL and throws the records away.
 * The overhead benchmark subtracts nothing; it prints this beside the recorder's figures.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdlib.h>

static uint8_t *spare;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = spare ? spare : malloc(1 << 20);
	spare = NULL;
	*size = 1 << 20;
	*max_records = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
	size_t valid)
{
	if (spare)
		free(buffer);
	else
		spare = buffer;
}

__attribute__((constructor)) static void start(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc,
		CUpti_BuffersCallbackCompleteFunc);
	CUptiResult (*enable)(CUpti_ActivityKind);

	if (!cupti)
		abort();
	*(void **)&register_callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	*(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
	if (register_callbacks(requested, completed) != CUPTI_SUCCESS ||
		enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
		abort();
}
