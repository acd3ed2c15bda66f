/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the calls of the plan among the program's, by function and site, and changes them. */
#include <cuda.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "fix_internal.h"
#include "system.h"

#define SITES 65536 /* ids are smaller (preload/sites/site.c) */
enum { LIMITS = 3, POOLS = 16 };

static struct fix_plan *plan;
static const struct hold_recorder *recorder;
/* The first of the plan's entries for the site, from 1; 0: none. */
static _Atomic uint16_t at[SITES];

/* The function of this thread's last call here if that was not made, plus 1; 0: it was made. */
static __thread unsigned changed;
static _Atomic int left_out; /* a wait was */

static struct {
	_Atomic uint64_t context, value;
} limit[LIMITS];
static _Atomic uint64_t pool[POOLS];

static struct {
	CUresult (*current_context)(CUcontext *context);
	CUresult (*current_device)(CUdevice *device);
	CUresult (*pool)(CUmemoryPool *pool, CUdevice device);
	CUresult (*set_pool)(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
	CUresult (*range)(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr);
	CUresult (*synchronize)(void);
	CUresult (*wait_for)(CUevent event);
} driver;

static const struct {
	const char *name;
	void *function;
} wanted[] = {
	{ "cuCtxGetCurrent", &driver.current_context },
	{ "cuCtxGetDevice", &driver.current_device },
	{ "cuDeviceGetMemPool", &driver.pool },
	{ "cuMemPoolSetAttribute", &driver.set_pool },
	{ "cuMemGetAddressRange_v2", &driver.range },
	{ "cuCtxSynchronize", &driver.synchronize },
	{ "cuEventSynchronize", &driver.wait_for },
};

static enum fix_treatment treatment_of(const struct fixed_call *call)
{
	unsigned first = at[recorder->site() % SITES];
	const struct fix_place *place;

	if (!first)
		return FIX_NOTHING;
	for (unsigned i = first - 1; i < plan->count; i++) {
		place = &plan->places[i];
		if (place->place.place != plan->places[first - 1].place.place)
			break;
		if (place->place.call == call->id)
			return (enum fix_treatment)place->treatment;
	}
	return FIX_NOTHING;
}

static void note_end(void)
{
	uint64_t now = recorder->now(), ended = plan->ended;

	while (ended < now && !atomic_compare_exchange_weak(&plan->ended, &ended, now))
		;
}

/* --- the changes --- */

static uint64_t device_bytes(uint64_t ptr)
{
	CUdeviceptr base;
	size_t bytes = 0;

	recorder->own_begin();
	if (driver.range(&base, &bytes, (CUdeviceptr)ptr))
		bytes = 0;
	recorder->own_end();
	return bytes;
}

/* If there is no room for it, the call is made, which waits: after it all is idle. */
static int put_off(const struct fixed_call *call)
{
	uint64_t bytes = 0;

	if (!fixed_handle(call))
		return 0;
	if (call->ptr && kind_family(call->kind) == FAMILY_free)
		bytes = device_bytes(call->ptr);
	return freed_keep(call, bytes);
}

/* A limit that was larger stays: kernels have at least what they need. */
static int is_large_already(const struct fixed_call *call)
{
	CUcontext context = NULL;

	if (call->type >= LIMITS)
		return 0;
	recorder->own_begin();
	if (driver.current_context(&context))
		context = NULL;
	recorder->own_end();
	return context && limit[call->type].context == (uint64_t)(uintptr_t)context &&
		limit[call->type].value >= call->value;
}

static void note_limit(const struct fixed_call *call)
{
	CUcontext context = NULL;

	if (call->type >= LIMITS)
		return;
	recorder->own_begin();
	if (!driver.current_context(&context)) {
		limit[call->type].context = (uint64_t)(uintptr_t)context;
		limit[call->type].value = call->value;
	}
	recorder->own_end();
}

/* The pool that an allocation comes from, once. */
static void keep_pool(const struct fixed_call *call)
{
	CUmemoryPool from = (CUmemoryPool)(uintptr_t)call->pool;
	uint64_t all = UINT64_MAX, none = 0;
	CUdevice device;
	int failed = 0;

	recorder->own_begin();
	if (!from)
		failed = driver.current_device(&device) || driver.pool(&from, device);
	for (unsigned i = 0; i < POOLS && !failed; i++) {
		if (pool[i] == (uint64_t)(uintptr_t)from)
			break;
		none = 0;
		if (!atomic_compare_exchange_strong(&pool[i], &none, (uint64_t)(uintptr_t)from))
			continue;
		failed = driver.set_pool(from, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
		plan->applied += !failed;
		break;
	}
	plan->failed += failed;
	recorder->own_end();
}

static int change(struct fixed_call *call)
{
	if (recorder->captures())
		return 0;
	switch (treatment_of(call)) {
	case FIX_LEAVE_OUT:
		left_out = 1;
		return 1;
	case FIX_PUT_OFF:
		return put_off(call);
	case FIX_ONCE:
		return is_large_already(call);
	default:
		return 0;
	}
}

/* Memory of that size which the program has freed. */
static int reuse(const struct fixed_call *call)
{
	uint64_t found;

	if (!plan->reuses_host || !call->made)
		return 0;
	found = freed_take_host(call->bytes, call->flags);
	if (!found)
		return 0;
	*call->made = found;
	freed_note_host(found, call->bytes, call->flags);
	return 1;
}

/* The program asks how long something took for which it would have waited. */
static int wait_now(const struct fixed_call *call)
{
	int done;

	recorder->own_begin();
	done = !driver.wait_for((CUevent)(uintptr_t)call->event);
	recorder->own_end();
	return done;
}

int fix_before(struct fixed_call *call)
{
	changed = 0;
	if (!plan)
		return 0;
	if (kind_family(call->kind) == FAMILY_context_end)
		freed_release();
	if (plan->keeps_pools && kind_family(call->kind) == FAMILY_stream_allocation)
		keep_pool(call);
	if (!reuse(call) && !change(call))
		return 0;
	/* The recorder believes that a wait of such a call is over. */
	changed = call->made ? 0 : call->id + 1u;
	plan->applied++;
	return 1;
}

int fix_after(const struct fixed_call *call, int result)
{
	if (!plan)
		return 0;
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return freed_release() > 0;
	if (result == CUDA_ERROR_NOT_READY && left_out && call->kind == KIND_EVENT_ELAPSED)
		return wait_now(call);
	if (result)
		return 0;
	note_end();
	if (kind_waits(call->kind) == WAITS_CONTEXT)
		freed_now_idle();
	if (call->made && plan->reuses_host)
		freed_note_host(*call->made, call->bytes, call->flags);
	switch (treatment_of(call)) {
	case FIX_PUT_OFF:
		freed_release();
		break;
	case FIX_ONCE:
		note_limit(call);
		break;
	default:
		break;
	}
	return 0;
}

/* --- called by the recorder --- */

static struct fix_plan *map_plan(const char *path)
{
	int fd = system_open(path, O_RDWR, 0);
	struct fix_plan *mapped;

	if (fd < 0)
		return NULL;
	mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	system_close(fd);
	return mapped == MAP_FAILED || mapped->magic != FIX_MAGIC || mapped->count > FIX_PLACES
		? NULL
		: mapped;
}

static const char *start(const struct hold_recorder *given, const char *path)
{
	struct fix_plan *mapped = map_plan(path);
	uint64_t none = 0;

	if (!mapped)
		return "its plan cannot be read";
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *found = given->symbol(wanted[i].name);

		if (!found)
			return "the driver is too old";
		*(void **)wanted[i].function = found;
	}
	recorder = given;
	atomic_compare_exchange_strong(&mapped->began, &none, recorder->now());
	plan = mapped;
	return NULL;
}

static void new_site(uint32_t id, const uint64_t *address, unsigned count)
{
	uint64_t place = BYTE_HASH_SEED;
	unsigned first = 0;

	for (unsigned i = 0; i < count; i++)
		if (!i || address[i] != address[i - 1])
			place = recorder->place_add(place, address[i]);
	while (first < plan->count && plan->places[first].place.place != place)
		first++;
	if (id < SITES)
		at[id] = (uint16_t)(first < plan->count ? first + 1 : 0);
}

static void touched(uint32_t site, enum call_id call)
{
}

static int is_changed(enum call_id call)
{
	return changed == call + 1u;
}

/* The device may still be at work: waits that were left out would count as saved otherwise. */
static void end(void)
{
	recorder->own_begin();
	if (!driver.synchronize())
		note_end();
	recorder->own_end();
}

/* The memory is the parent's. */
static void child(void)
{
	plan = NULL;
	freed_forget();
}

__attribute__((visibility("default"))) const struct hold cufence_fix = { .start = start,
	.wrap = fix_wrapper,
	.site = new_site,
	.touched = touched,
	.child = child,
	.changed = is_changed,
	.end = end };
