/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths of the calls whose function a fix names, as the recorder has them
 * (preload/sites/site.c): up to 32 return addresses, unwound once per frame address and path of a
 * thread, and compared with the stack later.  The recorder's site of a call by a shared libcudart
 * that it wraps is the program's, so that two paths are looked for in the plan: with what of
 * libcudart is innermost, and without.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "alone.h"
#include "shim.h"
#include "system.h"
#include "unwind.h"

/* Several lines of a function have one frame address, and below a shared libcudart one caller. */
enum { FRAMES = SITE_FRAMES, SKIPPED = 4, SETS = 16, WAYS = 8, PATHS = 8192 };

/* Where on the stack the return addresses are. */
struct known_path {
	uintptr_t frame;
	uint32_t site, count;
	uint32_t offset[FRAMES + SKIPPED];
	uint64_t address[FRAMES + SKIPPED];
};

/* Of a thread; mapped, as threads may have small stacks. */
struct site_tables {
	struct known_path path[SETS][WAYS];
	unsigned oldest[SETS]; /* the way to replace */
	struct frame_rules_space space;
};
static __thread struct site_tables *tables;
static pthread_key_t thread_key;

static const struct fix_file *fixes;
static _Atomic uint64_t paths[PATHS]; /* hashes; an id is an index + 1 */
static _Atomic int lock;              /* while a path is looked for in the plan */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static void thread_ended(void *value)
{
	if (tables)
		system_unmap(tables, sizeof(*tables));
	tables = NULL;
}

int site_begin(const struct fix_file *file)
{
	fixes = file;
	unwind_init();
	return pthread_key_create(&thread_key, thread_ended);
}

static struct site_tables *own_tables(void)
{
	void *mapped;

	if (tables)
		return tables;
	mapped = system_map(sizeof(*tables), 0, -1, 0);
	if (mapped == MAP_FAILED)
		return NULL;
	tables = mapped;
	pthread_setspecific(thread_key, tables);
	return tables;
}

static int is_own(uintptr_t address)
{
	return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext;
}

/* --- a frame's file --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void check_build(const struct module_place *place)
{
	const char *name = base_name(place->path);

	for (unsigned i = 0; i < fixes->modules_count; i++) {
		const struct fix_module *module = &fixes->module[i];

		if (!strcmp(module->name, name) &&
			memcmp(module->build_id, place->build_id, sizeof(module->build_id)))
			alone_other_build(module);
	}
}

uint64_t site_place_add(uint64_t place, uint64_t address)
{
	const struct module_place *found = module_take_place(address);

	if (!found)
		return hold_place_add(place, "", NULL, 0);
	check_build(found);
	place = hold_place_add(place, found->path, found->build_id,
		address - found->start + found->offset);
	module_give_place();
	return place;
}

static int is_of_cudart(uint64_t address)
{
	const struct module_place *found = module_take_place(address);
	int is_cudart = found && !strncmp(base_name(found->path), "libcudart.so", 12);

	if (found)
		module_give_place();
	return is_cudart;
}

/* --- a path --- */

/* Returns 1 if each address can be checked later. */
static int walk(struct known_path *path, uintptr_t frame)
{
	struct unwinder at;
	int more = unwind_begin(&at, frame, &tables->space), exact = 1;

	for (; more && path->count < FRAMES + SKIPPED; more = unwind_step(&at)) {
		if (is_own(at.address))
			continue;
		if (at.slot < frame || at.slot - frame > UINT32_MAX) {
			exact = 0;
			if (path->count >= SITE_NEAR)
				break;
		}
		path->offset[path->count] = (uint32_t)(at.slot - frame);
		path->address[path->count++] = at.address;
	}
	return exact;
}

/* As the recorder ends a path, beyond the near frames at an address that is repeated. */
static unsigned length_from(const struct known_path *path, unsigned first)
{
	const uint64_t *address = path->address + first;
	unsigned count = path->count - first < FRAMES ? path->count - first : FRAMES;

	for (unsigned i = SITE_NEAR; i < count; i++)
		for (unsigned k = 0; k < i; k++)
			if (address[k] == address[i])
				return i;
	return count;
}

/* Looks for it in the plan, with and without libcudart's frames. */
static void look_up(uint32_t site, const struct known_path *path)
{
	unsigned inner = 0;

	while (inner < path->count && inner < SKIPPED && is_of_cudart(path->address[inner]))
		inner++;
	fix_new_site(site, path->address + inner, length_from(path, inner));
	if (inner && !fix_has_place(site))
		fix_new_site(site, path->address, length_from(path, 0));
}

/* Returns its id; 0: there are too many. */
static uint32_t intern(const struct known_path *path)
{
	uint64_t hash =
		byte_hash(BYTE_HASH_SEED, path->address, path->count * sizeof(*path->address));
	uint32_t place = (uint32_t)(hash >> 20) % PATHS, site = 0;

	hash = hash ? hash : 1;
	for (unsigned tries = 0; tries < PATHS / 2; tries++, place = (place + 1) % PATHS) {
		if (paths[place] == hash)
			return place + 1;
		if (!paths[place])
			break;
	}
	while (atomic_exchange_explicit(&lock, 1, memory_order_acquire))
		machine_pause();
	/* Another thread may have added one meanwhile. */
	for (unsigned tries = 0; tries < PATHS / 2 && !site; tries++, place = (place + 1) % PATHS) {
		if (paths[place] && paths[place] != hash)
			continue;
		site = place + 1;
		if (!paths[place])
			look_up(site, path);
		paths[place] = hash;
	}
	atomic_store_explicit(&lock, 0, memory_order_release);
	return site;
}

static int holds(const struct known_path *path)
{
	for (unsigned i = 0; i < path->count; i++)
		if (*(const volatile uintptr_t *)(path->frame + path->offset[i]) !=
			path->address[i])
			return 0;
	return 1;
}

uint32_t site_of_call(void)
{
	uintptr_t frame = alone_frame, caller;
	int saved = errno, exact;
	struct known_path *path;
	unsigned set;

	if (!frame || !own_tables())
		return 0;
	caller = ((const uintptr_t *)frame)[1];
	set = (unsigned)((frame + (caller << 16)) * 0x9e3779b97f4a7c15u >> 32) % SETS;
	for (unsigned way = 0; way < WAYS; way++) {
		path = &tables->path[set][way];
		if (path->frame == frame && path->address[0] == caller && holds(path))
			return path->site;
	}
	path = &tables->path[set][tables->oldest[set]++ % WAYS];
	path->count = 0;
	exact = walk(path, frame);
	path->site = path->count ? intern(path) : 0;
	path->frame = exact && path->count ? frame : 0;
	errno = saved;
	return path->site;
}
