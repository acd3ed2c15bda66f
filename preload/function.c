/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by handle: name and parameter layout, asked from the driver at the first launch. */
#include <cuda.h>
#include <string.h>

#include "resolve.h"
#include "shim.h"

#define FUNCTION_TABLE 16384 /* a power of two */
#define MAX_PARAMETERS 1024

static _Atomic uint64_t known[FUNCTION_TABLE];

/* cudart hands a CUkernel cast to CUfunction: the kernel calls first, then the function calls. */
static struct {
	_Atomic int looked_up;
	CUresult (*kernel_name)(const char **, CUkernel);
	CUresult (*function_name)(const char **, CUfunction);
	CUresult (*kernel_parameter)(CUkernel, size_t, size_t *, size_t *);
	CUresult (*function_parameter)(CUfunction, size_t, size_t *, size_t *);
} driver;

void function_reset(void)
{
	for (unsigned i = 0; i < FUNCTION_TABLE; i++)
		atomic_store_explicit(&known[i], 0, memory_order_relaxed);
}

static void look_up_driver(void)
{
	if (driver.looked_up)
		return;
	*(void **)&driver.kernel_name = driver_symbol("cuKernelGetName");
	*(void **)&driver.function_name = driver_symbol("cuFuncGetName");
	*(void **)&driver.kernel_parameter = driver_symbol("cuKernelGetParamInfo");
	*(void **)&driver.function_parameter = driver_symbol("cuFuncGetParamInfo");
	driver.looked_up = 1;
}

static const char *name_of(uint64_t handle)
{
	const char *name = NULL;

	if (driver.kernel_name &&
		driver.kernel_name(&name, (CUkernel)(uintptr_t)handle) == CUDA_SUCCESS && name)
		return name;
	if (driver.function_name &&
		driver.function_name(&name, (CUfunction)(uintptr_t)handle) == CUDA_SUCCESS && name)
		return name;
	return "";
}

static int parameter_at(uint64_t handle, size_t index, struct function_parameter *parameter)
{
	size_t offset, size;
	CUresult rc = CUDA_ERROR_NOT_SUPPORTED;

	if (driver.kernel_parameter)
		rc = driver.kernel_parameter((CUkernel)(uintptr_t)handle, index, &offset, &size);
	if (rc != CUDA_SUCCESS && driver.function_parameter)
		rc = driver.function_parameter((CUfunction)(uintptr_t)handle, index, &offset,
			&size);
	if (rc != CUDA_SUCCESS || offset > UINT16_MAX || size > UINT16_MAX)
		return -1;
	*parameter = (struct function_parameter){ (uint16_t)offset, (uint16_t)size };
	return 0;
}

static void write_function(struct thread_state *thread, uint64_t handle)
{
	struct function_parameter parameter[MAX_PARAMETERS];
	uint32_t count = 0;
	struct function_record *record;
	const char *name;
	size_t length, bytes;

	look_up_driver();
	name = name_of(handle);
	length = strlen(name);
	while (count < MAX_PARAMETERS && !parameter_at(handle, count, &parameter[count]))
		count++;
	bytes = count * sizeof(parameter[0]);
	record = thread_reserve(thread, sizeof(*record) + bytes + length, RECORD_FUNCTION);
	if (!record)
		return;
	record->handle = handle;
	record->name_length = (uint32_t)length;
	record->parameter_count = driver.kernel_parameter || driver.function_parameter
					  ? count : FUNCTION_NO_PARAMETERS;
	memcpy(record->data, parameter, bytes);
	memcpy(record->data + bytes, name, length);
	trace_commit(&thread->chunk);
}

void function_note(struct thread_state *thread, uint64_t handle)
{
	uint32_t place = (uint32_t)((handle >> 4) * 0x9e3779b1u) & (FUNCTION_TABLE - 1);

	for (unsigned tries = 0; tries < 64; tries++, place = (place + 1) & (FUNCTION_TABLE - 1)) {
		uint64_t found = atomic_load_explicit(&known[place], memory_order_relaxed);

		if (found == handle)
			return;
		if (!found && atomic_compare_exchange_strong(&known[place], &found, handle)) {
			thread->busy = 1;
			write_function(thread, handle);
			thread->busy = 0;
			return;
		}
	}
	trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
}
