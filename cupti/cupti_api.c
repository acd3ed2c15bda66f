/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti_api.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "origin.h"
#include "resolve.h"
#include "shim.h"

static const char *const sonames[] = {
	"libcupti.so.13",
	"libcupti.so.12",
	"libcupti.so.11.8",
	"libcupti.so.11.7",
	"libcupti.so.11.6",
	"libcupti.so.11.5",
	"libcupti.so.11.4",
	"libcupti.so.11.3",
	"libcupti.so",
};
#define SONAMES (sizeof(sonames) / sizeof(sonames[0]))

/* A library that the program has loaded (PyTorch's) must be shared: two would both fail. */
static void *open_loaded(void)
{
	void *library = NULL;

	for (unsigned i = 0; i < SONAMES && !library; i++)
		library = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
	return library;
}

static void *open_in(const char *folder, const char *below)
{
	static char path[4096]; /* used only by the thread that starts CUPTI */
	void *library = NULL;

	for (unsigned i = 0; i < SONAMES && !library; i++) {
		struct joined joined = { path, sizeof(path), 0 };

		join(&joined, folder);
		join(&joined, "/");
		join(&joined, below);
		join(&joined, sonames[i]);
		if (joined_whole(&joined))
			library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

/* In the given folders, relative to a library that the program has loaded. */
static void *open_beside(const char *soname, const char *const *below)
{
	void *neighbour = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD), *library = NULL;
	struct link_map *map = NULL;
	static char folder[4096]; /* used only by the thread that starts CUPTI */
	char *slash;

	if (!neighbour)
		return NULL;
	if (!dlinfo(neighbour, RTLD_DI_LINKMAP, &map) && map &&
		strlen(map->l_name) < sizeof(folder)) {
		strcpy(folder, map->l_name);
		slash = strrchr(folder, '/');
		if (slash)
			slash[0] = '\0';
		for (; slash && *below && !library; below++)
			library = open_in(folder, *below);
	}
	dlclose(neighbour);
	return library;
}

/* In a toolkit next to libcudart, and in pip's nvidia/<part>/lib folders. */
static void *open_sibling(void)
{
	static const char *const here[] = { "", NULL };
	static const char *const near[] = { "", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/",
		"../../cu13/lib/", NULL };
	static const char *const cudart[] = { "libcudart.so.13", "libcudart.so.12",
		"libcudart.so.11.0" };
	void *library = NULL;

	/* The simulated driver works only with its own CUPTI. */
	if (shim.virtual_clock)
		return open_beside("libcuda.so.1", here);
	for (unsigned i = 0; i < 3 && !library; i++)
		library = open_beside(cudart[i], near);
	return library;
}

static void *open_toolkit(void)
{
	const char *home = getenv("CUDA_HOME");
	void *library = NULL;

	if (!home || !*home)
		home = getenv("CUDA_PATH");
	if (home && *home) {
		library = open_in(home, "lib64/");
		if (!library)
			library = open_in(home, "extras/CUPTI/lib64/");
	}
	for (unsigned i = 0; i < SONAMES && !library; i++)
		library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		library = open_in("/usr/local/cuda/lib64", "");
	if (!library)
		library = open_in("/usr/local/cuda/extras/CUPTI/lib64", "");
	return library;
}

static int resolve_all(struct cupti_api *api)
{
	void *(*find)(void *, const char *) = resolve_real_dlsym();

#define X(name, required) \
	*(void **)&api->name = find(api->library, #name); \
	if (required && !api->name) \
		return -1;
	CUPTI_FUNCTIONS(X)
#undef X
	return 0;
}

/* Once, for a library that the user chose; of others only the report says that none was found. */
static void report_not_loaded(const char *path)
{
	static char text[4200]; /* used only by the thread that starts CUPTI */
	struct joined joined = { text, sizeof(text), 0 };

	if (*text)
		return;
	join(&joined, "cufence: cannot load CUFENCE_CUPTI=");
	join(&joined, path);
	join(&joined, ": device operations are not recorded\n");
	origin_print_message(text);
}

int cupti_is_off(void)
{
	const char *cupti = origin_setting("CUFENCE_CUPTI"), *mode = origin_setting("CUFENCE_MODE");

	return (cupti && !strcmp(cupti, "off")) || (mode && !strcmp(mode, "host"));
}

int cupti_api_open(struct cupti_api *api)
{
	const char *setting = origin_setting("CUFENCE_CUPTI");
	const char *path = setting && *setting ? setting : NULL;

	if (api->library)
		return 0;
	api->library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : open_loaded();
	if (!api->library && !path)
		api->library = open_sibling();
	if (!api->library && !path)
		api->library = open_toolkit();
	if (!api->library || resolve_all(api)) {
		if (path)
			report_not_loaded(path);
		api->library = NULL;
		return -1;
	}
	return 0;
}
