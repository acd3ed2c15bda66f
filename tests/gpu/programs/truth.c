/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out what kernels really access, for tests/gpu/truth.  Each allocation is a mapping of its
 * own, whose access rights can be taken away; kernels are launched one at a time.
 *
 * The library is two things.  truth_malloc() and truth_free() are an allocator that Python gives to
 * PyTorch or CuPy.  As CUDA_INJECTION64_PATH it follows a plan: TRUTH_PLAN names a file whose lines
 * are "LAUNCH HOW ALLOCATION".  Launches count from 0, allocations in the order in which they were
 * made.  HOW is
 *	r	the launch may only read the allocation
 *	n	it may not access it at all
 *	R, N	the same for all allocations to which no word of its parameters points
 *	f	the launch is repeated with other bytes in that allocation, which it does not read
 * TRUTH_LOG gets the lines
 *	launch LAUNCH NAME
 *	word LAUNCH OFFSET ALLOCATION DISTANCE	of each word of the parameters that points into one
 *	fault LAUNCH RESULT			and the process ends with status 70
 *	refused LAUNCH RESULT			the driver does not do what is asked for: status 71
 *	done LAUNCH				the plan has no line for a later launch: status 72
 * and, if TRUTH_CHANGES names a file, that file gets struct change and a bitmap of the bytes that
 * each launch changed in each allocation.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALLOCATIONS 4096
#define PARAMETERS (32 << 10)
enum status { FAULT = 70, REFUSED, DONE };

struct allocation {
	CUdeviceptr address;
	size_t bytes, mapped;
	unsigned char *before, *after; /* host memory, as long as a launch is compared */
	int named;                     /* by a word of this launch's parameters */
};

struct line {
	long launch;
	char how;
	unsigned allocation;
};

struct change {
	uint64_t launch, allocation, bytes, repeated;
};

void *truth_malloc(ssize_t size, int device, CUstream stream);
void truth_free(void *address, ssize_t size, int device, CUstream stream);
int InitializeInjection(void);

static struct allocation allocations[ALLOCATIONS];
static unsigned count;
static struct line *plan;
static size_t lines;
static long launches, last_planned = -1;
static FILE *log_file, *changes;
static int following;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* A launch of ours, or what the driver does within one. */
static __thread int busy;

static CUmemAccessDesc rights(CUmemAccess_flags flags)
{
	return (CUmemAccessDesc){ { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 }, flags };
}

static void end(enum status status, const char *word, CUresult result)
{
	fprintf(log_file, "%s %ld %d\n", word, launches, result);
	fflush(NULL);
	_exit(status);
}

/* --- the allocator --- */

static void have_context(void)
{
	CUcontext context = NULL;

	if (cuCtxGetCurrent(&context) == CUDA_SUCCESS && context)
		return;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		fputs("truth: no context\n", stderr);
}

/*
 * Nothing is ever given back, so that an address stands for one allocation; behind each lie 2 MiB
 * that are not mapped.
 */
void *truth_malloc(ssize_t size, int device, CUstream stream)
{
	const CUmemAllocationProp kind = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	const CUmemAccessDesc all = rights(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	struct allocation *made = NULL;
	CUmemGenericAllocationHandle memory;
	size_t step;

	if (size <= 0)
		return NULL;
	have_context();
	pthread_mutex_lock(&mutex);
	if (count < ALLOCATIONS)
		made = &allocations[count];
	if (made &&
		!cuMemGetAllocationGranularity(&step, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM)) {
		made->bytes = (size_t)size;
		made->mapped = (made->bytes + step - 1) / step * step;
		if (cuMemCreate(&memory, made->mapped, &kind, 0) ||
			cuMemAddressReserve(&made->address, made->mapped + step, step, 0, 0) ||
			cuMemMap(made->address, made->mapped, 0, memory, 0) ||
			cuMemSetAccess(made->address, made->mapped, &all, 1) ||
			cuMemsetD8(made->address, (unsigned char)(0x51 + count % 7), made->mapped))
			made = NULL;
		else
			count++;
	}
	pthread_mutex_unlock(&mutex);
	return made ? (void *)made->address : NULL;
}

void truth_free(void *address, ssize_t size, int device, CUstream stream)
{
}

/* --- what a launch is given --- */

static const char *name_of(CUfunction function)
{
	const char *name = NULL;

	if (cuKernelGetName(&name, (CUkernel)function) && cuFuncGetName(&name, function))
		name = NULL;
	return name ? name : "?";
}

static int parameter(CUfunction function, unsigned i, size_t *offset, size_t *size)
{
	return cuKernelGetParamInfo((CUkernel)function, i, offset, size) == CUDA_SUCCESS ||
		cuFuncGetParamInfo(function, i, offset, size) == CUDA_SUCCESS;
}

static void note_word(size_t offset, uint64_t word)
{
	for (unsigned i = 0; i < count; i++)
		if (word - allocations[i].address < allocations[i].mapped) {
			allocations[i].named = 1;
			fprintf(log_file, "word %ld %zu %u %llu\n", launches, offset, i,
				(unsigned long long)(word - allocations[i].address));
		}
}

static void note_words(CUfunction function, void **parameters, void **extra)
{
	const char *buffer = NULL;
	size_t offset, size, total = 0;
	uint64_t word;

	for (unsigned i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[i + 1];
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			total = *(size_t *)extra[i + 1];
	}
	for (size_t at = 0; buffer && at + sizeof(word) <= total; at += sizeof(word)) {
		memcpy(&word, buffer + at, sizeof(word));
		note_word(at, word);
	}
	for (unsigned i = 0; parameters && parameter(function, i, &offset, &size); i++)
		for (size_t at = -offset % sizeof(word); at + sizeof(word) <= size;
			at += sizeof(word)) {
			memcpy(&word, (char *)parameters[i] + at, sizeof(word));
			note_word(offset + at, word);
		}
}

/* --- what a launch changes --- */

static void copy_out(int after)
{
	for (unsigned i = 0; i < count; i++) {
		struct allocation *made = &allocations[i];
		unsigned char **to = after ? &made->after : &made->before;

		if (!*to)
			*to = malloc(made->bytes);
		if (!*to || cuMemcpyDtoH(*to, made->address, made->bytes))
			end(REFUSED, "copy", CUDA_ERROR_UNKNOWN);
	}
}

static void copy_back(int after)
{
	for (unsigned i = 0; i < count; i++) {
		const struct allocation *made = &allocations[i];

		if (cuMemcpyHtoD(made->address, after ? made->after : made->before, made->bytes))
			end(REFUSED, "copy", CUDA_ERROR_UNKNOWN);
	}
}

static void write_change(unsigned i, const unsigned char *old, const unsigned char *new,
	int repeated)
{
	const struct change head = { (uint64_t)launches, i, allocations[i].bytes,
		(uint64_t)repeated };
	unsigned char bits;

	if (!repeated && !memcmp(old, new, head.bytes))
		return;
	fwrite(&head, sizeof(head), 1, changes);
	for (size_t at = 0; at < head.bytes; at += 8) {
		bits = 0;
		for (size_t bit = 0; bit < 8 && at + bit < head.bytes; bit++)
			bits |= (unsigned char)((old[at + bit] != new[at + bit]) << bit);
		fwrite(&bits, 1, 1, changes);
	}
}

/* --- the plan --- */

static int is_planned(const struct line *line, unsigned i)
{
	if (line->launch != launches || line->how == 'f')
		return 0;
	if (line->how == 'R' || line->how == 'N')
		return !allocations[i].named;
	return line->allocation == i;
}

static void protect(int take)
{
	CUresult result;

	for (size_t k = 0; k < lines; k++)
		for (unsigned i = 0; i < count; i++) {
			if (!is_planned(&plan[k], i))
				continue;
			const CUmemAccessDesc one =
				rights(!take ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
						: strchr("rR", plan[k].how)
						? CU_MEM_ACCESS_FLAGS_PROT_READ
						: CU_MEM_ACCESS_FLAGS_PROT_NONE);
			result = cuMemSetAccess(allocations[i].address, allocations[i].mapped, &one,
				1);
			if (result)
				end(REFUSED, "refused", result);
		}
}

static CUresult launch_again(int id, const void *arguments)
{
	const cuLaunchKernel_params *plain = arguments;
	const cuLaunchKernelEx_params *full = arguments;

	if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ||
		id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz)
		return cuLaunchKernelEx(full->config, full->f, full->kernelParams, full->extra);
	if (id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
		id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz)
		return CUDA_ERROR_NOT_SUPPORTED;
	return cuLaunchKernel(plain->f, plain->gridDimX, plain->gridDimY, plain->gridDimZ,
		plain->blockDimX, plain->blockDimY, plain->blockDimZ, plain->sharedMemBytes,
		plain->hStream, plain->kernelParams, plain->extra);
}

/* The launch once more, with each bit of the allocation other than before: what is the same as then
 * was not stored. */
static void repeat(unsigned i, int id, const void *arguments)
{
	struct allocation *made = &allocations[i];
	unsigned char *other = malloc(2 * made->bytes), *got = other + made->bytes;
	CUresult result;

	copy_back(0);
	for (size_t at = 0; at < made->bytes; at++)
		other[at] = (unsigned char)~made->before[at];
	cuMemcpyHtoD(made->address, other, made->bytes);
	if (launch_again(id, arguments))
		end(REFUSED, "repeat", CUDA_ERROR_UNKNOWN);
	result = cuCtxSynchronize();
	if (result)
		end(FAULT, "repeat", result);
	cuMemcpyDtoH(got, made->address, made->bytes);
	write_change(i, other, got, 1);
	free(other);
	copy_back(1);
}

static void before_launch(CUfunction function, void **parameters, void **extra)
{
	cuCtxSynchronize();
	fprintf(log_file, "launch %ld %s\n", launches, name_of(function));
	for (unsigned i = 0; i < count; i++)
		allocations[i].named = 0;
	note_words(function, parameters, extra);
	if (changes)
		copy_out(0);
	protect(1);
}

static void after_launch(int id, const void *arguments)
{
	const CUresult result = cuCtxSynchronize();

	if (result)
		end(FAULT, "fault", result);
	protect(0);
	if (changes) {
		copy_out(1);
		for (unsigned i = 0; i < count; i++)
			write_change(i, allocations[i].before, allocations[i].after, 0);
		for (size_t k = 0; k < lines; k++)
			if (plan[k].launch == launches && plan[k].how == 'f')
				repeat(plan[k].allocation, id, arguments);
		fflush(changes);
	}
	if (lines && launches == last_planned)
		end(DONE, "done", CUDA_SUCCESS);
	fflush(log_file);
	launches++;
}

static void CUPTIAPI callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
	const CUpti_CallbackData *call)
{
	const void *arguments = call->functionParams;
	const cuLaunchKernelEx_params *full = arguments;
	const cuLaunchKernel_params *plain = arguments;
	const cuLaunchCooperativeKernel_params *together = arguments;

	if (busy)
		return;
	busy = 1;
	if (call->callbackSite != CUPTI_API_ENTER)
		after_launch((int)id, arguments);
	else if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ||
		id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz)
		before_launch(full->f, full->kernelParams, full->extra);
	else if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ||
		id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz)
		before_launch(plain->f, plain->kernelParams, plain->extra);
	else
		before_launch(together->f, together->kernelParams, NULL);
	busy = 0;
}

static int read_plan(const char *path)
{
	FILE *file = fopen(path, "r");
	struct line line;

	if (!file)
		return -1;
	while (fscanf(file, "%ld %c %u", &line.launch, &line.how, &line.allocation) == 3) {
		plan = realloc(plan, (lines + 1) * sizeof(*plan));
		plan[lines++] = line;
		last_planned = line.launch > last_planned ? line.launch : last_planned;
	}
	fclose(file);
	return 0;
}

static void *cupti_symbol(const char *name)
{
	static const char *const places[] = { "libcupti.so.13", "libcupti.so.12",
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };
	static void *library;

	for (unsigned i = 0; !library && i < sizeof(places) / sizeof(places[0]); i++)
		library = dlopen(places[i], RTLD_NOW);
	return library ? dlsym(library, name) : NULL;
}

/* Called by the driver at cuInit(), of the library that CUDA_INJECTION64_PATH names. */
int InitializeInjection(void)
{
	static const CUpti_CallbackId ids[] = { CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
		CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
		CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
		CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
		CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
		CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz };
	const char *path = getenv("TRUTH_LOG");
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
	CUptiResult (
		*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
	CUpti_SubscriberHandle subscriber;

	*(void **)&subscribe = cupti_symbol("cuptiSubscribe");
	*(void **)&enable = cupti_symbol("cuptiEnableCallback");
	log_file = path ? fopen(path, "w") : NULL;
	if (following || !log_file || !subscribe || !enable ||
		(getenv("TRUTH_PLAN") && read_plan(getenv("TRUTH_PLAN"))) ||
		subscribe(&subscriber, (CUpti_CallbackFunc)callback, NULL)) {
		fputs("truth: cannot follow launches\n", stderr);
		_exit(REFUSED);
	}
	following = 1;
	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i]);
	if (getenv("TRUTH_CHANGES"))
		changes = fopen(getenv("TRUTH_CHANGES"), "w");
	return 1;
}
