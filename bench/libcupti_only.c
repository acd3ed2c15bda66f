/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the cost of CUPTI without a recorder: preloaded, it requests the same records as the
 * collector (cupti/selection.h), counts them and drops them; its callbacks return at once.
 * With CUPTI_ONLY=kernels it requests CONCURRENT_KERNEL alone and no callback.
 *
 * CUPTI_ONLY_LIBRARY names the libcupti, which must be the one the traced run is given.  A run in
 * which anything fails is worth nothing to the benchmark: it ends at once.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "cupti_api.h"
#include "selection.h"

#define BUFFERS 64

static struct cupti_api api;
static CUpti_SubscriberHandle subscriber;
static _Atomic(uint8_t *) spare[BUFFERS];
static _Atomic uint64_t records;

static void must(CUptiResult result, const char *what)
{
	if (result == CUPTI_SUCCESS)
		return;
	fprintf(stderr, "cupti_only: %s failed: %d\n", what, (int)result);
	abort();
}
#define MUST(call) must(call, #call)

/* The benchmark reads it: a run that recorded nothing measured nothing. */
static void finish(void)
{
	static atomic_flag finished = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&finished))
		return;
	api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	fprintf(stderr, "cupti_only: %llu records\n", (unsigned long long)records);
}

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	static atomic_flag registered = ATOMIC_FLAG_INIT;
	uint8_t *found = NULL;

	/* Later than in the constructor: it should run before the driver's own exit handlers. */
	if (!atomic_flag_test_and_set(&registered))
		atexit(finish);
	for (unsigned i = 0; i < BUFFERS && !found; i++)
		found = atomic_exchange(&spare[i], NULL);
	if (!found)
		found = mmap(NULL, SELECTION_BUFFER_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (found == MAP_FAILED)
		abort();
	*buffer = found;
	*size = SELECTION_BUFFER_BYTES;
	*max_records = 0;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
	size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;
	uint64_t count = 0;
	uint8_t *none;

	while (valid && api.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		count++;
	atomic_fetch_add(&records, count);
	for (unsigned i = 0; i < BUFFERS; i++) {
		none = NULL;
		if (atomic_compare_exchange_strong(&spare[i], &none, buffer))
			return;
	}
	munmap(buffer, SELECTION_BUFFER_BYTES);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
	const void *data)
{
}

/* As the collector does it: the same kinds, the same calls. */
static void select_same(void)
{
	MUST(api.cuptiSubscribe(&subscriber, callback, NULL));
	MUST(api.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
	for (unsigned i = 0; i < SELECTED_KINDS; i++)
		MUST(api.cuptiActivityEnable(selected_kinds[i]));
	MUST(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD));
	if (!selected_graph_nodes(getenv("CUFENCE_GRAPHS")))
		MUST(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
	for (unsigned id = 1; id < SELECTION_CBIDS; id++)
		if (selected_callback(id))
			MUST(api.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				id));
}

static void select_kernels(void)
{
	MUST(api.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
	MUST(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("CUPTI_ONLY_LIBRARY"), *what = getenv("CUPTI_ONLY");

	/* Processes that the program starts are not measured. */
	unsetenv("LD_PRELOAD");
	api.library = dlopen(path && *path ? path : "libcupti.so.13", RTLD_NOW);
	if (!api.library) {
		fprintf(stderr, "cupti_only: %s\n", dlerror());
		abort();
	}
#define X(name, required) *(void **)&api.name = dlsym(api.library, #name);
	CUPTI_FUNCTIONS(X)
#undef X
	if (what && !strcmp(what, "kernels"))
		select_kernels();
	else
		select_same();
	atexit(finish);
}
