/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml.h"

#include <dlfcn.h>
#include <stdlib.h>

/* nvmlReturn_t: no process used the GPU since the time asked for. */
#define NVML_NOT_FOUND 6

typedef struct nvml_device *device;

/* nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3 fills it. */
struct pci_info {
	char legacy[16];
	unsigned domain, bus, slot, id, subsystem;
	char text[32];
};

struct nvml {
	unsigned count;
	device *device;
	int (*init)(void);
	int (*get_count)(unsigned *);
	int (*get_device)(unsigned, device *);
	int (*get_place)(device, struct pci_info *);
	int (*get_mig)(device, unsigned *, unsigned *);
	int (*get_list[NVML_LISTS])(device, unsigned *, struct nvml_process *);
	int (*get_used)(device, struct nvml_utilization *, unsigned *, unsigned long long);
	const char *(*get_text)(int);
};

/* _v3 came with CUDA 11.? after _v2; both fill struct nvml_process. */
static void *either(void *library, const char *name, const char *older)
{
	void *symbol = dlsym(library, name);

	return symbol ? symbol : dlsym(library, older);
}

const char *nvml_text(const struct nvml *nvml, int error)
{
	const char *text = NULL;

	if (error == NVML_ERROR_MISSING)
		return NVML_LIBRARY " is too old";
	if (nvml->get_text)
		text = nvml->get_text(error);
	return text ? text : "NVML failed";
}

/* Returns 0 or NVML's error. */
static int start(struct nvml *nvml)
{
	int error;

	if (!nvml->init || !nvml->get_count || !nvml->get_device || !nvml->get_place)
		return NVML_ERROR_MISSING;
	error = nvml->init();
	if (!error)
		error = nvml->get_count(&nvml->count);
	if (error)
		return error;
	nvml->device = calloc(nvml->count + 1, sizeof(*nvml->device));
	/* One that failed has no handle; asking about it fails. */
	for (unsigned i = 0; nvml->device && i < nvml->count; i++)
		if (nvml->get_device(i, &nvml->device[i]))
			nvml->device[i] = NULL;
	return nvml->device ? NVML_ERROR_NONE : NVML_ERROR_MISSING;
}

int nvml_open(struct nvml **opened, const char **why)
{
	void *library = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct nvml *nvml = library ? calloc(1, sizeof(*nvml)) : NULL;
	int error;

	*why = "there is no NVML (" NVML_LIBRARY " was not found)";
	if (!nvml)
		return -1;
	*(void **)&nvml->init = dlsym(library, "nvmlInit_v2");
	*(void **)&nvml->get_count = dlsym(library, "nvmlDeviceGetCount_v2");
	*(void **)&nvml->get_device = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&nvml->get_place = dlsym(library, "nvmlDeviceGetPciInfo_v3");
	*(void **)&nvml->get_mig = dlsym(library, "nvmlDeviceGetMigMode");
	*(void **)&nvml->get_used = dlsym(library, "nvmlDeviceGetProcessUtilization");
	*(void **)&nvml->get_text = dlsym(library, "nvmlErrorString");
	*(void **)&nvml->get_list[NVML_COMPUTE] =
		either(library, "nvmlDeviceGetComputeRunningProcesses_v3",
			"nvmlDeviceGetComputeRunningProcesses_v2");
	*(void **)&nvml->get_list[NVML_GRAPHICS] =
		either(library, "nvmlDeviceGetGraphicsRunningProcesses_v3",
			"nvmlDeviceGetGraphicsRunningProcesses_v2");
	*(void **)&nvml->get_list[NVML_MPS] =
		either(library, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
			"nvmlDeviceGetMPSComputeRunningProcesses_v2");
	error = start(nvml);
	*why = error ? nvml_text(nvml, error) : NULL;
	*opened = nvml;
	return error ? -1 : 0;
}

unsigned nvml_count(const struct nvml *nvml)
{
	return nvml->count;
}

int nvml_find_place(const struct nvml *nvml, unsigned gpu, struct nvml_place *place)
{
	struct pci_info pci = { .bus = 0 };
	unsigned mode = 0, pending;
	int error;

	if (!nvml->device[gpu])
		return NVML_ERROR_MISSING;
	error = nvml->get_place(nvml->device[gpu], &pci);
	/* GPUs that cannot be divided have no mode. */
	if (!nvml->get_mig || nvml->get_mig(nvml->device[gpu], &mode, &pending))
		mode = 0;
	*place = (struct nvml_place){ pci.domain, pci.bus, pci.slot, mode == 1 };
	return error;
}

int nvml_list(const struct nvml *nvml, unsigned gpu, enum nvml_list list, unsigned *count,
	struct nvml_process *process)
{
	if (!nvml->get_list[list] || !nvml->device[gpu])
		return NVML_ERROR_MISSING;
	return nvml->get_list[list](nvml->device[gpu], count, process);
}

int nvml_utilization(const struct nvml *nvml, unsigned gpu, uint64_t since, unsigned *count,
	struct nvml_utilization *used)
{
	int error;

	if (!nvml->get_used || !nvml->device[gpu])
		return NVML_ERROR_MISSING;
	error = nvml->get_used(nvml->device[gpu], used, count, since);
	if (error != NVML_NOT_FOUND)
		return error;
	*count = 0;
	return NVML_ERROR_NONE;
}
