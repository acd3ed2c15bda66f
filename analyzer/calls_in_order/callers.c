/* SPDX-License-Identifier: Apache-2.0 */
#include "callers.h"

#include <string.h>

#include "symbols_user.h"

/* What is known of a site: flags, and above them the number of an allocator. */
enum { SITE_KNOWN = 1 << 0, SITE_LIBRARY = 1 << 1, SITE_LOADER = 1 << 2, SITE_ALLOCATOR = 3 };

static const char *const loaders[] = {
#define LOADER(module, source) module,
#include "callers.def"
#undef LOADER
};

static const char *const bindings[] = {
#define BINDING(module, source) module,
#include "callers.def"
#undef BINDING
};

static const struct allocator {
	const char *name, *module, *function;
} allocators[] = {
#define ALLOCATOR(name, module, function, source) { name, module, function },
#include "callers.def"
#undef ALLOCATOR
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

int callers_init(struct callers *callers, struct db *db, const struct run *run)
{
	*callers = (struct callers){ .run = run, .db = db };
	callers->frames = db_prepare(db,
		"SELECT m.path, f.function, m.id FROM frame f JOIN module m ON m.id = f.module "
		"WHERE f.site = ? ORDER BY f.depth");
	callers->api = db_prepare(db,
		"SELECT coalesce(t.name, s.api) FROM call c LEFT JOIN call p ON p.id = c.parent "
		"LEFT JOIN call_type t ON t.id = p.type LEFT JOIN site s ON s.id = c.site "
		"WHERE c.id = ?");
	return callers->frames && callers->api ? 0 : -1;
}

void callers_release(struct callers *callers)
{
	sqlite3_finalize(callers->frames);
	sqlite3_finalize(callers->api);
	map_release(&callers->sites);
}

static int is_of_module(const char *path, const char *module)
{
	const char *slash = strrchr(path, '/');

	return strchr(module, '/') ? strstr(path, module) != NULL
				   : !strncmp(slash ? slash + 1 : path, module, strlen(module));
}

static int is_of_any(const char *path, const char *const *module, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_of_module(path, module[i]))
			return 1;
	return 0;
}

/* A function of the runtime, linked into a program or a library. */
static int is_of_static_runtime(const char *function)
{
	return !strncmp(function, "libcudart_static_", 17) || !strncmp(function, "__cuda", 6);
}

/* The frame passes on what others ask of CUDA. */
static int passes_on(const char *path)
{
	return (module_is_system(path) && !module_is_library(path)) ||
		is_of_any(path, bindings, COUNT(bindings));
}

/* Returns 1 + the row of the allocator of such frames, 0: none; frames: of that module so far. */
static unsigned find_row(const char *path, const char *function, int frames)
{
	for (unsigned i = 0; i < COUNT(allocators); i++) {
		const struct allocator *row = &allocators[i];

		if (is_of_module(path, row->module) &&
			(*row->function == '*' || (!*row->function && frames > 1) ||
				(function && *row->function && !strcmp(function, row->function))))
			return i + 1;
	}
	return 0;
}

/*
 * Reads the innermost frames outside of CUDA's runtime, as long as they are of one module.  A
 * runtime may be linked into that module.
 */
static int64_t read_frames(struct callers *callers, uint32_t site)
{
	int64_t known = SITE_KNOWN, module = 0;
	unsigned row = 0;
	int frames = 0, step = db_bind(callers->frames, "i", (int64_t)site) ? -1 : 1;

	while (step > 0 && !row && (step = db_step(callers->frames)) > 0) {
		const char *path = db_text(callers->frames, 0);
		const char *function = (const char *)sqlite3_column_text(callers->frames, 1);
		int64_t of = sqlite3_column_int64(callers->frames, 2);

		if (!frames &&
			(module_is_runtime(path) || (function && is_of_static_runtime(function))))
			known |= SITE_LOADER;
		else if (!frames && passes_on(path))
			continue;
		else if (frames && of != module)
			break;
		else {
			if (!frames && module_is_library(path))
				known |= SITE_LIBRARY | SITE_LOADER;
			if (!frames && is_of_any(path, loaders, COUNT(loaders)))
				known |= SITE_LOADER;
			module = of;
			row = find_row(path, function, ++frames);
		}
	}
	sqlite3_reset(callers->frames);
	return step < 0 ? -1 : known | (int64_t)row << SITE_ALLOCATOR;
}

static int64_t read_site(struct callers *callers, uint32_t site)
{
	int64_t known;

	db_lock(callers->db);
	known = read_frames(callers, site);
	db_unlock(callers->db);
	return known;
}

static int64_t find_site(struct callers *callers, int64_t call)
{
	uint32_t site = run_call(callers->run, call) ? run_link(callers->run, call)->site : 0;
	int64_t known = site ? (int64_t)map_get(&callers->sites, site, 0) : SITE_KNOWN;

	if (known)
		return known;
	known = read_site(callers, site);
	if (known < 0)
		return -1;
	map_set(&callers->sites, site, (uint64_t)known);
	return known;
}

int callers_is_library(struct callers *callers, int64_t call)
{
	int64_t known = find_site(callers, call);

	return known < 0 ? -1 : (known & SITE_LIBRARY) != 0;
}

int callers_is_lazy_load(struct callers *callers, int64_t call)
{
	static const char by_program[] = "cudaLibraryLoad", of_runtime[] = "cuda";
	int step = db_bind(callers->api, "i", call) ? -1 : db_step(callers->api);
	const char *api = step > 0 ? (const char *)sqlite3_column_text(callers->api, 0) : NULL;
	int64_t known;

	if (step < 0)
		return -1;
	api = api ? api + strspn(api, "_") : "";
	step = !strncmp(api, by_program, sizeof(by_program) - 1)    ? 0
		: !strncmp(api, of_runtime, sizeof(of_runtime) - 1) ? 1
								    : 2;
	sqlite3_reset(callers->api);
	if (step < 2)
		return step;
	known = find_site(callers, call);
	return known < 0 ? -1 : (known & SITE_LOADER) != 0;
}

int callers_find_allocator(struct callers *callers, int64_t call)
{
	int64_t known = find_site(callers, call), row = known < 0 ? -1 : known >> SITE_ALLOCATOR;

	return (int)row;
}
