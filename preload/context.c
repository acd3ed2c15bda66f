/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, devices and kernels: properties of handles that the analyzer needs, queried from the
 * driver once per handle.  Only queries that use no stream, as these are allowed during stream
 * capture.
 */
#include <cuda.h>
#include <errno.h>
#include <string.h>

#include "allocation.h"
#include "hot.h"
#include "join.h"
#include "resolve.h"

#define DEVICES 64

/* otherwise: the result if the driver does not know the attribute. */
static int attribute(CUdevice device, CUdevice_attribute which, int otherwise)
{
	static CUresult (*get)(int *, CUdevice_attribute, CUdevice);
	int value = otherwise;

	if (!get)
		*(void **)&get = driver_symbol("cuDeviceGetAttribute");
	return get && get(&value, which, device) == CUDA_SUCCESS ? value : otherwise;
}

/* Attributes that affect the behaviour of calls, as properties "device.ORDINAL.NAME". */
static void write_attributes(struct thread_state *thread, CUdevice device)
{
#define NAMED(which, name) \
	{ \
		CU_DEVICE_ATTRIBUTE_##which, name \
	}
	static const struct {
		CUdevice_attribute which;
		const char *name;
	} attributes[] = {
		NAMED(COMPUTE_MODE, "compute_mode"),
		NAMED(CONCURRENT_KERNELS, "concurrent_kernels"),
		NAMED(INTEGRATED, "integrated"),
		NAMED(KERNEL_EXEC_TIMEOUT, "kernel_exec_timeout"),
		NAMED(UNIFIED_ADDRESSING, "unified_addressing"),
		NAMED(MANAGED_MEMORY, "managed_memory"),
		NAMED(CONCURRENT_MANAGED_ACCESS, "concurrent_managed_access"),
		NAMED(PAGEABLE_MEMORY_ACCESS, "pageable_memory_access"),
		NAMED(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
			"pageable_memory_access_uses_host_page_tables"),
		NAMED(STREAM_PRIORITIES_SUPPORTED, "stream_priorities_supported"),
		NAMED(MEMORY_POOLS_SUPPORTED, "memory_pools_supported"),
		NAMED(MPS_ENABLED, "mps_enabled"),
		/* Where it sits: by that NVML's devices are told from each other. */
		NAMED(PCI_DOMAIN_ID, "pci_domain_id"),
		NAMED(PCI_BUS_ID, "pci_bus_id"),
		NAMED(PCI_DEVICE_ID, "pci_device_id"),
	};
#undef NAMED
	char name[96], value[16];
	struct joined joined;

	for (unsigned i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		int known = attribute(device, attributes[i].which, -1);

		if (known < 0)
			continue;
		joined = (struct joined){ name, sizeof(name), 0 };
		join(&joined, "device.");
		join_number(&joined, (unsigned)device);
		join(&joined, ".");
		join(&joined, attributes[i].name);
		joined = (struct joined){ value, sizeof(value), 0 };
		join_number(&joined, (unsigned)known);
		property_write(thread, name, value, joined.length);
	}
}

static void note_driver_version(void)
{
	CUresult (*get)(int *);
	int version = 0;

	*(void **)&get = driver_symbol("cuDriverGetVersion");
	if (get && get(&version) == CUDA_SUCCESS)
		shim.writer.header->driver_version = (uint32_t)version;
}

static void write_device(struct thread_state *thread, CUdevice device)
{
	CUresult (*get_name)(char *, int, CUdevice);
	CUresult (*total_memory)(size_t *, CUdevice);
	char name[128] = "";
	size_t bytes = 0;
	struct device_info_record *record;

	*(void **)&get_name = driver_symbol("cuDeviceGetName");
	*(void **)&total_memory = driver_symbol("cuDeviceTotalMem_v2");
	if (get_name)
		get_name(name, sizeof(name) - 1, device);
	if (total_memory)
		total_memory(&bytes, device);
	record = thread_reserve(thread, sizeof(*record) + strlen(name), RECORD_DEVICE_INFO);
	if (!record)
		return;
	record->device = (uint32_t)device;
#define GET(field, which) \
	record->field = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_##which, 0)
	GET(sm_count, MULTIPROCESSOR_COUNT);
	GET(threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR);
	GET(blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR);
	GET(compute_major, COMPUTE_CAPABILITY_MAJOR);
	GET(compute_minor, COMPUTE_CAPABILITY_MINOR);
	GET(async_engines, ASYNC_ENGINE_COUNT);
#undef GET
	record->memory_bytes = bytes;
	record->name_length = (uint32_t)strlen(name);
	memcpy(record->name, name, strlen(name));
	trace_commit(&thread->chunk);
}

static void write_context(struct thread_state *thread, uint16_t id, uint16_t cupti_id)
{
	CUresult (*get_device)(CUdevice *);
	CUresult (*get_flags)(unsigned int *);
	CUdevice device = -1;
	unsigned int flags = 0;
	struct context_record *record;

	*(void **)&get_device = driver_symbol("cuCtxGetDevice");
	*(void **)&get_flags = driver_symbol("cuCtxGetFlags");
	if (get_device && get_device(&device) != CUDA_SUCCESS)
		device = -1;
	if (get_flags)
		get_flags(&flags);
	record = thread_reserve(thread, sizeof(*record), RECORD_CONTEXT);
	if (!record)
		return;
	record->id = id;
	record->cupti_id = cupti_id;
	record->handle = shim.context[id - 1].handle;
	record->device = device;
	record->flags = flags;
	trace_commit(&thread->chunk);
	if (!cupti_id && device >= 0) {
		write_device(thread, device);
		write_attributes(thread, device);
		note_driver_version();
	}
}

static uint16_t context_intern(struct thread_state *thread, uint64_t handle)
{
	uint32_t count = shim.context_count, mine;

	for (uint32_t i = 0; i < count; i++)
		if (shim.context[i].handle == handle)
			return (uint16_t)(i + 1);
	mine = atomic_fetch_add(&shim.context_count, 1);
	if (mine >= SHIM_CONTEXTS) {
		atomic_store(&shim.context_count, SHIM_CONTEXTS);
		trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
		return 0;
	}
	/* Two threads may give one context two ids: the analyzer joins them by handle. */
	shim.context[mine].cupti_id = 0;
	shim.context[mine].handle = handle;
	write_context(thread, (uint16_t)(mine + 1), 0);
	return (uint16_t)(mine + 1);
}

COLD uint16_t context_changed(struct thread_state *thread, uint64_t handle)
{
	int saved = errno;

	thread->context = context_intern(thread, handle);
	thread->context_handle = handle;
	errno = saved;
	return thread->context;
}

static struct {
	_Atomic uint64_t handle;
	_Atomic uint32_t users;
} primary[DEVICES];

void context_reset(void)
{
	shim.context_count = 0;
	for (unsigned i = 0; i < DEVICES; i++) {
		primary[i].handle = 0;
		primary[i].users = 0;
	}
}

void context_retained(uint64_t context, uint64_t device)
{
	if (device >= DEVICES)
		return;
	primary[device].handle = context;
	primary[device].users++;
}

void context_ending(uint64_t context_or_device, int release)
{
	uint64_t handle = context_or_device, device = context_or_device;
	uint32_t count = shim.context_count;

	if (device < DEVICES) {
		if (release && primary[device].users && --primary[device].users)
			return;
		handle = primary[device].handle;
	} else if (release) {
		count = 0; /* cuCtxDetach: unknown */
	}
	function_doubt();
	for (uint32_t i = 0; i < count && i < SHIM_CONTEXTS; i++)
		if (shim.context[i].handle == handle)
			allocation_end_context((uint16_t)(i + 1));
}

COLD void context_write_id(struct thread_state *thread, uint16_t id, uint32_t cupti_id)
{
	int saved = errno;

	if (cupti_id) {
		atomic_store_explicit(&shim.context[id - 1].cupti_id, (uint16_t)cupti_id,
			memory_order_relaxed);
		write_context(thread, id, (uint16_t)cupti_id);
	}
	errno = saved;
}
