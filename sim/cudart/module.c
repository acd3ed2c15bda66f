/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions called by nvcc's code at program start: registration of fat binaries, kernels and
 * variables.  Nothing is loaded before its first use.
 */
#include "cudart.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
	int thread_limit, void *tid, void *bid, void *block, void *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
	size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
	int external, size_t bytes, int constant, int global);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);

/* One fat binary; nvcc's code uses its address as the handle. */
struct binary {
	struct binary *next;
	const void *wrapper;
	CUlibrary library; /* NULL until first used */
	bool failed;
};

/* A kernel or variable, by the address of its host symbol. */
struct symbol {
	struct symbol *next;
	struct binary *binary;
	const void *host;
	const char *name;
	CUkernel kernel;
	bool variable;
	void **managed; /* receives the address of a managed variable */
};

#define BUCKETS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct binary *binaries;
static struct symbol *symbols[BUCKETS];

static struct symbol **bucket(const void *host)
{
	return &symbols[((uintptr_t)host >> 4) % BUCKETS];
}

static void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory) {
		fputs("cufence simulator: out of memory\n", stderr);
		abort();
	}
	return memory;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
	struct binary *binary = allocate(sizeof(*binary));

	binary->wrapper = wrapper;
	pthread_mutex_lock(&lock);
	binary->next = binaries;
	binaries = binary;
	pthread_mutex_unlock(&lock);
	return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

/* At exit or dlclose: the addresses may be reused by other code. */
void __cudaUnregisterFatBinary(void **handle)
{
	struct binary *binary = (struct binary *)handle;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		struct symbol **link = &symbols[i];

		while (*link) {
			struct symbol *symbol = *link;

			if (symbol->binary != binary) {
				link = &symbol->next;
				continue;
			}
			*link = symbol->next;
			free(symbol);
		}
	}
	for (struct binary **link = &binaries; *link; link = &(*link)->next) {
		if (*link == binary) {
			*link = binary->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	/* At exit the driver has shut down already; the real runtime calls it anyway. */
	if (binary->library)
		simrt_driver.cuLibraryUnload(binary->library);
	free(binary);
}

static void add(void **handle, const void *host, const char *name, bool variable)
{
	struct symbol *symbol = allocate(sizeof(*symbol));

	symbol->binary = (struct binary *)handle;
	symbol->host = host;
	symbol->name = name;
	symbol->variable = variable;
	pthread_mutex_lock(&lock);
	symbol->next = *bucket(host);
	*bucket(host) = symbol;
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
	int thread_limit, void *tid, void *bid, void *block, void *grid, int *warp_size)
{
	add(handle, host, name, false);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
	size_t bytes, int constant, int global)
{
	add(handle, host, name, true);
}

/* The host accesses it through a pointer, which is set when the module is initialized. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
	int external, size_t bytes, int constant, int global)
{
	add(handle, host, name, true);
	(*bucket(host))->managed = host;
}

/* A managed variable is identified by the address that its pointer contains. */
static struct symbol *find_managed(const void *address)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct symbol *s = symbols[i]; s; s = s->next) {
			if (s->managed && *s->managed == address)
				return s;
		}
	}
	return NULL;
}

static struct symbol *find(const void *host, bool variable)
{
	struct symbol *symbol;

	pthread_mutex_lock(&lock);
	for (symbol = *bucket(host); symbol; symbol = symbol->next) {
		if (symbol->host == host && symbol->variable == variable)
			break;
	}
	if (!symbol && variable)
		symbol = find_managed(host);
	pthread_mutex_unlock(&lock);
	return symbol;
}

/* The driver is called with the lock held: it never calls back into this file. */
static CUresult load(struct binary *binary)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!binary->library && !binary->failed) {
		result = simrt_driver.cuLibraryLoadData(&binary->library, binary->wrapper, NULL,
			NULL, 0, NULL, NULL, 0);
		binary->failed = result;
	}
	if (binary->failed)
		result = CUDA_ERROR_INVALID_IMAGE;
	pthread_mutex_unlock(&lock);
	return result;
}

char __cudaInitModule(void **handle)
{
	struct binary *binary = (struct binary *)handle;
	bool failed = simrt_context() != cudaSuccess;

	for (size_t i = 0; i < BUCKETS && !failed; i++) {
		for (struct symbol *s = symbols[i]; s && !failed; s = s->next) {
			if (s->binary == binary && s->managed)
				failed = load(binary) ||
					simrt_driver.cuLibraryGetManaged((CUdeviceptr *)s->managed,
						NULL, binary->library, s->name);
		}
	}
	return !failed;
}

cudaError_t simrt_kernel(const void *host, CUfunction *function)
{
	struct symbol *symbol = find(host, false);
	CUresult result;

	/* A driver handle is accepted, too. */
	if (!symbol)
		return simrt_driver.cuKernelGetFunction(function, (CUkernel)host)
			? simrt_error(cudaErrorInvalidDeviceFunction)
			: cudaSuccess;
	if (!symbol->kernel) {
		result = load(symbol->binary);
		if (!result)
			result = simrt_driver.cuLibraryGetKernel(&symbol->kernel,
				symbol->binary->library, symbol->name);
		if (result)
			return simrt_error(cudaErrorInvalidDeviceFunction);
	}
	*function = (CUfunction)symbol->kernel;
	return cudaSuccess;
}

cudaError_t simrt_variable(const void *host, CUdeviceptr *ptr, size_t *bytes)
{
	struct symbol *symbol = find(host, true);
	cudaError_t error = simrt_context();
	CUresult result;

	if (error)
		return error;
	if (!symbol)
		return simrt_error(cudaErrorInvalidSymbol);
	result = load(symbol->binary);
	if (!result && symbol->managed)
		result = simrt_driver.cuLibraryGetManaged(ptr, bytes, symbol->binary->library,
			symbol->name);
	else if (!result)
		result = simrt_driver.cuLibraryGetGlobal(ptr, bytes, symbol->binary->library,
			symbol->name);
	return simrt_error(result ? cudaErrorInvalidSymbol : cudaSuccess);
}

/* NVIDIA's runtime uses the address of the host function as the handle. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	cudaError_t error = simrt_init();
	CUfunction function;

	if (!error)
		error = simrt_kernel(host, &function);
	*kernel = (cudaKernel_t)host;
	return error;
}
