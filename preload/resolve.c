/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "hold.h"
#include "nccl.h"
#include "shim.h"

/* Runs before anything is initialized, in every program: must not be instrumented. */
#define EARLY __attribute__((no_sanitize("address", "undefined")))
#define EXPORT __attribute__((visibility("default")))

typedef void *(*dlsym_function)(void *, const char *);
typedef CUresult (*get_proc_function)(const char *, void **, int, cuuint64_t);
typedef CUresult (*get_proc_v2_function)(const char *, void **, int, cuuint64_t,
	CUdriverProcAddressQueryResult *);

void *driver_reals[CALL_COUNT][VARIANT_COUNT];
static void *real_get_proc, *real_get_proc_v2;

/* The driver's functions, where driver_reals has wrappers of the guard, the hold or the fix. */
static void *behind[CALL_COUNT * VARIANT_COUNT];

/* Value of an entry in driver_reals, or of one of the two above. */
EARLY static void *known_real(void **real)
{
	size_t place = (size_t)(real - &driver_reals[0][0]);

	if (place < CALL_COUNT * VARIANT_COUNT && behind[place])
		return behind[place];
	return __atomic_load_n(real, __ATOMIC_RELAXED);
}

EXPORT CUresult cuGetProcAddress(const char *, void **, int, cuuint64_t);

EARLY dlsym_function resolve_real_dlsym(void)
{
	static dlsym_function real;
	dlsym_function found = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (found)
		return found;
	found = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!found)
		found = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", MACHINE_OLD("2.2.5"));
	__atomic_store_n(&real, found, __ATOMIC_RELAXED);
	return found;
}

EARLY dlsym_function resolve_next_dlsym(void)
{
	static dlsym_function next;
	dlsym_function found = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (found)
		return found;
	/* Called from here: finds the next one after this library. */
	found = (dlsym_function)resolve_real_dlsym()(RTLD_NEXT, "dlsym");
	if (!found)
		found = resolve_real_dlsym();
	__atomic_store_n(&next, found, __ATOMIC_RELAXED);
	return found;
}

/* An interposed strcmp may not work yet. */
EARLY static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/*
 * Indices in driver_entries, found by name and by the real function's address.  Filled completely
 * at first use by any thread: every thread writes the same values to the same slots, so concurrent
 * fills are harmless and none waits.  Slots contain index + 1.
 */
#define PLACES (CALL_COUNT * VARIANT_COUNT)
#define SLOTS 4096u
_Static_assert(PLACES < SLOTS / 2, "a table more than half full is slow");

/* Set once all driver functions that the recorder calls or wraps have been looked up. */
static _Atomic int looked_up;

struct place_table {
	uint16_t slot[SLOTS];
	int filled;
};
static struct place_table by_name, by_address;

EARLY static const struct driver_entry *entry_at(unsigned place)
{
	return &driver_entries[place / VARIANT_COUNT][place % VARIANT_COUNT];
}

EARLY static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	while (*name)
		hash = (hash ^ (uint8_t)*name++) * 16777619u;
	return hash ^ hash >> 15;
}

EARLY static uint32_t address_hash(const void *address)
{
	return (uint32_t)((uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u >> 40);
}

EARLY static void put_place(struct place_table *table, uint32_t hash, unsigned place)
{
	for (uint32_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
		unsigned found = __atomic_load_n(&table->slot[i], __ATOMIC_RELAXED);

		if (found == place + 1)
			return;
		if (found)
			continue;
		__atomic_store_n(&table->slot[i], (uint16_t)(place + 1), __ATOMIC_RELAXED);
		return;
	}
}

EARLY static void fill_by_name(void)
{
	if (__atomic_load_n(&by_name.filled, __ATOMIC_ACQUIRE))
		return;
	for (unsigned place = 0; place < PLACES; place++)
		if (entry_at(place)->name)
			put_place(&by_name, name_hash(entry_at(place)->name), place);
	__atomic_store_n(&by_name.filled, 1, __ATOMIC_RELEASE);
}

/* Queries that the guard answers (guard.h). */
EARLY static void *guard_wrapper(const char *name, void ***real)
{
	for (const struct guard_query *q = &cufence_guard ? cufence_guard.queries : NULL;
		q && q->name; q++)
		if (same(q->name, name)) {
			*real = q->real;
			return q->wrapper;
		}
	return NULL;
}

EARLY static void *own_wrapper(const char *name, void ***real)
{
	if (same(name, "cuGetProcAddress")) {
		*real = &real_get_proc;
		return (void *)cuGetProcAddress;
	}
	if (same(name, "cuGetProcAddress_v2")) {
		*real = &real_get_proc_v2;
		return (void *)cuGetProcAddress_v2;
	}
	fill_by_name();
	for (uint32_t i = name_hash(name) % SLOTS; by_name.slot[i]; i = (i + 1) % SLOTS) {
		unsigned place = by_name.slot[i] - 1u;

		if (!same(entry_at(place)->name, name))
			continue;
		*real = &driver_reals[place / VARIANT_COUNT][place % VARIANT_COUNT];
		return entry_at(place)->wrapper;
	}
	return guard_wrapper(name, real);
}

/* The driver of another link namespace (dlmopen) is not the one that the wrappers call. */
EARLY static int is_elsewhere(void *handle)
{
	Lmid_t namespace;

	return !dlinfo(handle, RTLD_DI_LMID, &namespace) && namespace != LM_ID_BASE;
}

EARLY void *dlsym_answer(void *handle, const char *name)
{
	void *wrapper, *found, **real;

	/*
	 * RTLD_NEXT and RTLD_DEFAULT find our exports, or the function that the caller wants to
	 * skip to.
	 */
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !name)
		return NULL;
	if (name[0] == 'n' && name[1] == 'c')
		return is_elsewhere(handle) ? NULL : nccl_answer(handle, name);
	if (name[0] != 'c' || name[1] != 'u')
		return NULL;
	wrapper = own_wrapper(name, &real);
	if (!wrapper)
		return NULL;
	found = resolve_real_dlsym()(handle, name);
	if (!found || found == wrapper)
		return found;
	if (is_elsewhere(handle))
		return NULL;
	/* Another tool after this one has its own function for it. */
	if (resolve_next_dlsym() != resolve_real_dlsym() &&
		resolve_next_dlsym()(handle, name) != found)
		return NULL;
	/* Once found, the driver's functions stay loaded, so this one is from another library. */
	if (looked_up && known_real(real) && known_real(real) != found)
		return NULL;
	if (known_real(real) != found)
		__atomic_store_n(real, found, __ATOMIC_RELAXED);
	return wrapper;
}

void *driver_library(void)
{
	static void *library;
	void *found = __atomic_load_n(&library, __ATOMIC_RELAXED);

	if (!found) {
		found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
		__atomic_store_n(&library, found, __ATOMIC_RELAXED);
	}
	return found;
}

static void *find_in_driver(const char *name)
{
	void *library = driver_library();

	return library ? resolve_real_dlsym()(library, name) : NULL;
}

/* Driver functions that the recorder itself calls. */
static struct {
	const char *name;
	void *found;
} questions[] = {
	{ "cuCtxGetCurrent", NULL },
	{ "cuCtxGetDevice", NULL },
	{ "cuCtxGetFlags", NULL },
	{ "cuDeviceGetAttribute", NULL },
	{ "cuDeviceGetName", NULL },
	{ "cuDeviceTotalMem_v2", NULL },
	{ "cuDriverGetVersion", NULL },
	{ "cuFuncGetAttribute", NULL },
	{ "cuFuncGetName", NULL },
	{ "cuFuncGetParamInfo", NULL },
	{ "cuKernelGetAttribute", NULL },
	{ "cuKernelGetName", NULL },
	{ "cuKernelGetParamInfo", NULL },
	{ "cuMemGetAddressRange_v2", NULL },
	{ "cuStreamGetCtx", NULL },
	{ "cuStreamIsCapturing", NULL },
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

void *driver_symbol(const char *name)
{
	for (unsigned i = 0; looked_up && i < QUESTIONS; i++)
		if (!strcmp(questions[i].name, name))
			return questions[i].found;
	return find_in_driver(name);
}

void *driver_resolve(enum call_id id, int variant)
{
	const struct driver_entry *entry = &driver_entries[id][variant];
	void *real = entry->name ? find_in_driver(entry->name) : NULL;

	if (real != entry->wrapper)
		__atomic_store_n(&driver_reals[id][variant], real, __ATOMIC_RELAXED);
	return real == entry->wrapper ? NULL : real;
}

/* Is this a function of another tool that wraps the runtime, like this library does? */
static int is_of_another_tool(const void *function)
{
	const char *slash;
	Dl_info info;

	if (!function || !dladdr(function, &info) || !info.dli_fname)
		return 0;
	slash = strrchr(info.dli_fname, '/');
	return strncmp(slash ? slash + 1 : info.dli_fname, "libcudart", 9) != 0;
}

void *runtime_resolve(int major, const char *name)
{
	static const char *const soname[RUNTIME_COUNT] = { "libcudart.so.11.0", "libcudart.so.12",
		"libcudart.so.13" };
	void *next = resolve_real_dlsym()(RTLD_NEXT, name), *library, *real = NULL;

	if (is_of_another_tool(next))
		return next;
	/*
	 * RTLD_NEXT may find another major's library, and misses a libcudart loaded with
	 * RTLD_LOCAL. RTLD_NODELETE keeps it loaded when the plugin that loaded it is closed, as
	 * its addresses are stored.
	 */
	library = dlopen(soname[major], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (library) {
		real = resolve_real_dlsym()(library, name);
		dlclose(library);
	}
	return real ? real : next;
}

static void *real_at(unsigned place)
{
	if (behind[place])
		return behind[place];
	return driver_real((enum call_id)(place / VARIANT_COUNT), (int)(place % VARIANT_COUNT));
}

static void fill_by_address(void)
{
	if (__atomic_load_n(&by_address.filled, __ATOMIC_ACQUIRE))
		return;
	for (unsigned place = 0; place < PLACES; place++) {
		const void *real = entry_at(place)->name ? real_at(place) : NULL;

		if (real)
			put_place(&by_address, address_hash(real), place);
	}
	__atomic_store_n(&by_address.filled, 1, __ATOMIC_RELEASE);
}

/* Returns the wrapper for the driver function at a real address; NULL: none. */
static void *wrapper_of(const void *real)
{
	if (real == real_get_proc)
		return (void *)cuGetProcAddress;
	if (real == real_get_proc_v2)
		return (void *)cuGetProcAddress_v2;
	fill_by_address();
	for (uint32_t i = address_hash(real) % SLOTS; by_address.slot[i]; i = (i + 1) % SLOTS)
		if (real_at(by_address.slot[i] - 1u) == real)
			return entry_at(by_address.slot[i] - 1u)->wrapper;
	return NULL;
}

/* As wrapper_of(), for queries that the guard answers: they are not recorded. */
static void *guard_wrapper_of(void *real)
{
	for (const struct guard_query *q = &cufence_guard ? cufence_guard.queries : NULL;
		q && q->name; q++)
		if (driver_symbol(q->name) == real) {
			__atomic_store_n(q->real, real, __ATOMIC_RELAXED);
			return q->wrapper;
		}
	return real;
}

static void replace(void **function)
{
	void *wrapper;

	if (!function || !*function)
		return;
	wrapper = wrapper_of(*function);
	if (!wrapper) {
		shim_count(COUNT_PASSED_THROUGH);
		wrapper = guard_wrapper_of(*function);
	}
	*function = wrapper;
}

/* From now on wrappers call the functions of these libraries instead of the driver's. */
static void aim_at_libraries(void)
{
	for (unsigned place = 0; place < PLACES; place++) {
		enum call_id id = (enum call_id)(place / VARIANT_COUNT);
		int variant = (int)(place % VARIANT_COUNT);
		void *real = entry_at(place)->name ? real_at(place) : NULL, *wrapper = real;

		if (!real || behind[place])
			continue;
		behind[place] = real;
		if (&cufence_guard)
			wrapper = cufence_guard.wrap(id, variant, wrapper);
		if (&cufence_hold)
			wrapper = cufence_hold.wrap(id, variant, wrapper);
		if (&cufence_fix)
			wrapper = cufence_fix.wrap(id, variant, wrapper);
		__atomic_store_n(&driver_reals[id][variant], wrapper, __ATOMIC_RELAXED);
	}
}

void driver_look_up(void)
{
	if (looked_up)
		return;
	for (unsigned i = 0; i < QUESTIONS; i++)
		questions[i].found = find_in_driver(questions[i].name);
	looked_up = 1;
	fill_by_address();
	if (&cufence_guard || &cufence_hold || &cufence_fix)
		aim_at_libraries();
}

static void *get_proc_real(void **real, const char *name)
{
	void *found = __atomic_load_n(real, __ATOMIC_RELAXED);

	if (!found) {
		found = driver_symbol(name);
		__atomic_store_n(real, found, __ATOMIC_RELAXED);
	}
	return found;
}

EXPORT CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	get_proc_function real =
		(get_proc_function)get_proc_real(&real_get_proc, "cuGetProcAddress");
	CUresult result = real ? real(symbol, function, version, flags)
			       : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;

	if (result == CUDA_SUCCESS)
		replace(function);
	return result;
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
	cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	get_proc_v2_function real =
		(get_proc_v2_function)get_proc_real(&real_get_proc_v2, "cuGetProcAddress_v2");
	CUresult result = real ? real(symbol, function, version, flags, status)
			       : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;

	if (result == CUDA_SUCCESS)
		replace(function);
	return result;
}
