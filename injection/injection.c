/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library that CUDA and NVTX load as a tool: CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH.  It
 * finds the recorder of the process.
 *
 * A program with CUDA in several link namespaces (dlmopen) loads this library in each.  The
 * recorder itself cannot be loaded there again: its thread-local storage is static, of which the
 * loader has enough for about ten C libraries.  Nor is what runs there recorded.  Every namespace
 * has a C library with thread-specific keys of its own, but the values are the thread's: a key that
 * the recorder makes in one overwrites those of the others.  The recorder counts the namespaces.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define RECORDER "libcufence.so"

typedef const void *(*export_tables)(uint32_t id);

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjectionNvtx2(export_tables tables);

/* Is the library with that file loaded in the program's own namespace, not in another one? */
static int is_at_home(const char *file)
{
	void *self = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
	Lmid_t namespace = LM_ID_BASE;

	if (self) {
		dlinfo(self, RTLD_DI_LMID, &namespace);
		dlclose(self);
	}
	return namespace == LM_ID_BASE;
}

/*
 * A function of the recorder, in the same folder; NULL: none.  here: name of the
 * function for the program's own namespace, elsewhere: for any other, or NULL.
 */
static void *find(const char *here, const char *elsewhere)
{
	char path[4096];
	const char *name, *slash;
	void *recorder;
	Dl_info own;
	size_t folder;

	if (!dladdr((void *)InitializeInjection, &own) || !own.dli_fname)
		return NULL;
	name = is_at_home(own.dli_fname) ? here : elsewhere;
	slash = strrchr(own.dli_fname, '/');
	folder = slash ? (size_t)(slash - own.dli_fname) + 1 : 0;
	if (!name || folder + sizeof(RECORDER) > sizeof(path))
		return NULL;
	memcpy(path, own.dli_fname, folder);
	memcpy(path + folder, RECORDER, sizeof(RECORDER));
	recorder = dlmopen(LM_ID_BASE, path, RTLD_LAZY);
	return recorder ? dlsym(recorder, name) : NULL;
}

int InitializeInjection(void)
{
	int saved = errno, (*initialize)(void);

	*(void **)&initialize = find("InitializeInjection", "cufence_other_namespace");
	if (initialize)
		initialize();
	errno = saved;
	return 1;
}

int InitializeInjectionNvtx2(export_tables tables)
{
	int saved = errno, (*initialize)(export_tables), done;

	*(void **)&initialize = find("InitializeInjectionNvtx2", NULL);
	done = initialize ? initialize(tables) : 0;
	errno = saved;
	return done;
}
