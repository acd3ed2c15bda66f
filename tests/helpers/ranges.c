/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges of every kind around CUDA calls, and threads created and joined in between. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>

static int (*synchronize)(void);
static int (*set_current)(void *);
static void *context;

static void *work(void *argument)
{
	set_current(context);
	synchronize();
	return argument;
}

static void *idle(void *argument)
{
	return argument;
}

static void event_range(nvtxDomainHandle_t domain, nvtxStringHandle_t name)
{
	nvtxEventAttributes_t event = { 0 };

	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = name;
	nvtxDomainRangePushEx(domain, &event);
	synchronize();
	nvtxDomainRangePop(domain);
}

int main(void)
{
	void *libcuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned), (*retain)(void **, int);
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
	nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
	nvtxRangeId_t id;
	pthread_t thread, other;
	void *result;

	if (!libcuda)
		return 2;
	*(void **)&init = dlsym(libcuda, "cuInit");
	*(void **)&retain = dlsym(libcuda, "cuDevicePrimaryCtxRetain");
	*(void **)&set_current = dlsym(libcuda, "cuCtxSetCurrent");
	*(void **)&synchronize = dlsym(libcuda, "cuCtxSynchronize");
	if (init(0) || retain(&context, 0) || set_current(context))
		return 3;
	nvtxRangePushA("outer");
	id = nvtxRangeStartW(L"w\u00efde");
	event_range(domain, name);
	nvtxMarkA("here");
	pthread_create(&thread, NULL, work, &result);
	pthread_create(&other, NULL, idle, NULL);
	pthread_join(thread, &result);
	pthread_join(other, NULL);
	nvtxRangeEnd(id);
	nvtxRangePop();
	printf("%d\n", result == &result);
	return 0;
}
