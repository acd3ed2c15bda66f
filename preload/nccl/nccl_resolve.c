/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl.h"

#include <dlfcn.h>

#include "resolve.h"

/* As in resolve.c: runs before anything is initialized. */
#define EARLY __attribute__((no_sanitize("address", "undefined")))

static void *reals[NCCL_COUNT];

EARLY static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The library of an address, loaded already; NULL: unknown.  Close it. */
static void *library_at(const void *address)
{
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* RTLD_NODELETE: addresses are stored. */
static void *find(const char *name, const void *caller, const void *wrapper)
{
	void *library, *found = resolve_real_dlsym()(RTLD_NEXT, name);

	if (found)
		return found;
	library = caller ? library_at(caller) : NULL;
	if (library) {
		found = resolve_real_dlsym()(library, name);
		dlclose(library);
	}
	if (found && found != wrapper)
		return found;
	library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	found = library ? resolve_real_dlsym()(library, name) : NULL;
	if (library)
		dlclose(library);
	return found == wrapper ? NULL : found;
}

void *nccl_real(enum nccl_function function, const void *caller)
{
	void *found = __atomic_load_n(&reals[function], __ATOMIC_RELAXED);

	if (found)
		return found;
	/* All at once, as a lookup waits for a thread that loads a library. */
	for (int i = 0; i < NCCL_COUNT; i++) {
		const struct nccl_entry *entry = &nccl_entries[i];

		if (!__atomic_load_n(&reals[i], __ATOMIC_RELAXED))
			__atomic_store_n(&reals[i], find(entry->name, caller, entry->wrapper),
				__ATOMIC_RELAXED);
	}
	return __atomic_load_n(&reals[function], __ATOMIC_RELAXED);
}

/* NULL: the program has reached none. */
static const void *any_real(void)
{
	const void *known = NULL;

	for (int i = 0; i < NCCL_COUNT && !known; i++)
		known = __atomic_load_n(&reals[i], __ATOMIC_RELAXED);
	return known;
}

int nccl_is_wrapped(void)
{
	return any_real() != NULL;
}

void *nccl_symbol(const char *name)
{
	return find(name, any_real(), NULL);
}

EARLY void *nccl_answer(void *handle, const char *name)
{
	void *found, *known;
	int i = 0;

	while (i < NCCL_COUNT && !same(nccl_entries[i].name, name))
		i++;
	if (i == NCCL_COUNT)
		return NULL;
	found = resolve_real_dlsym()(handle, name);
	if (!found || found == nccl_entries[i].wrapper)
		return found;
	/* Another tool after this one has its own function for it. */
	if (resolve_next_dlsym() != resolve_real_dlsym() &&
		resolve_next_dlsym()(handle, name) != found)
		return NULL;
	/* A second copy of the library is not the one that the wrapper calls. */
	known = __atomic_load_n(&reals[i], __ATOMIC_RELAXED);
	if (known && known != found)
		return NULL;
	__atomic_store_n(&reals[i], found, __ATOMIC_RELAXED);
	return nccl_entries[i].wrapper;
}
