/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites.  A site is a list of return addresses, because in static cudart, PyTorch or CuPy the
 * innermost one is the same for all callers.  Unwinding costs as much as a launch, so it is done
 * once per wrapper frame address and path: the unwinder returns where on the stack each return
 * address is, and while those words are unchanged, the site is the same.  Interpreter frames
 * (python.h) are read at every call, as one native path runs any script.  With a script, eight
 * native frames are enough.  Without one the path continues, as templates that were not inlined are
 * twenty frames deep, up to the first repeated address: recursion depths are not distinguished.
 */
#include <errno.h>
#include <string.h>

#include "holding.h"
#include "hot.h"
#include "python.h"
#include "unwind.h"

#define SITE_TABLE 32768 /* a power of two */
#define SITE_SEED 0x9e3779b97f4a7c15u
#define RECENT_BITS 10
#define PAGE_SHIFT 12

static struct {
	_Atomic uint64_t hash[SITE_TABLE]; /* id is index + 1; 0: free */
	_Atomic uint32_t count;
	/*
	 * Recently used, by the upper bits of the hash: its remaining bits, and the id.  In two
	 * pages: those of the large table are rarely in the TLB.
	 */
	_Atomic uint64_t recent[1u << RECENT_BITS] __attribute__((aligned(64)));
} sites;

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

void site_reset(void)
{
	for (unsigned i = 0; i < SITE_TABLE; i++)
		sites.hash[i] = 0;
	for (unsigned i = 0; i < 1u << RECENT_BITS; i++)
		sites.recent[i] = 0;
	sites.count = 0;
}

static int is_own_code(uintptr_t address)
{
	return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext;
}

int site_is_own(uintptr_t address)
{
	return is_own_code(address);
}

struct path {
	unsigned count;
	uint64_t address[SITE_FRAMES];
};

struct script {
	unsigned count;
	uint64_t frame[SITE_SCRIPT_FRAMES];
};

static uint64_t hash_words(uint64_t hash, const uint64_t *word, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		hash ^= word[i];
		hash *= 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	return hash ? hash : 1;
}

static void write_site(struct thread_state *thread, uint32_t id, const struct path *path,
	const struct script *script)
{
	struct site_record *record = thread_reserve(thread,
		sizeof(*record) + (path->count + script->count) * sizeof(record->address[0]),
		RECORD_SITE);

	if (!record)
		return;
	record->id = id;
	memcpy(record->address, path->address, path->count * sizeof(record->address[0]));
	memcpy(record->address + path->count, script->frame,
		script->count * sizeof(record->address[0]));
	trace_commit(&thread->chunk);
	for (unsigned i = 0; i < path->count; i++)
		module_note(thread, path->address[i]);
	if (shim.hold)
		holding_site(id, path->address, path->count, script->frame, script->count);
}

/*
 * Returns its id, 0 if it is new and the table has limit entries.  Lock-free: the thread that
 * stores the hash in a free slot writes the record.
 */
static uint32_t intern_path(struct thread_state *thread, const struct path *path,
	const struct script *script, uint32_t limit)
{
	uint64_t found,
		hash = hash_words(hash_words(SITE_SEED, path->address, path->count), script->frame,
			script->count);
	uint32_t place = (uint32_t)hash & (SITE_TABLE - 1);

	for (;; place = (place + 1) & (SITE_TABLE - 1)) {
		found = atomic_load_explicit(&sites.hash[place], memory_order_relaxed);
		if (!found) {
			if (sites.count >= limit)
				return 0;
			if (atomic_compare_exchange_strong(&sites.hash[place], &found, hash)) {
				sites.count++;
				write_site(thread, place + 1, path, script);
				return place + 1;
			}
		}
		if (found == hash)
			return place + 1;
	}
}

/*
 * Recursive programs have more paths than the table has slots: new ones are then shortened, which
 * makes them fewer.
 */
static uint32_t intern_any(struct thread_state *thread, struct path *path, struct script *script)
{
	uint32_t limit = SITE_TABLE / 2, id = intern_path(thread, path, script, limit);

	for (unsigned frames = SITE_NEAR / 2; !id && frames; frames /= 2) {
		limit += SITE_TABLE / 8;
		if (path->count > frames)
			path->count = frames;
		if (script->count > frames)
			script->count = frames;
		id = intern_path(thread, path, script, limit);
	}
	if (!id)
		trace_count(&shim.writer, COUNT_DROPPED_SITES, 1);
	return id;
}

static uint32_t intern_new(struct thread_state *thread, const struct cached_site *site,
	const struct script *script)
{
	struct path path = { .count = site->count };
	struct script called = *script;

	memcpy(path.address, site->address, sizeof(site->address));
	for (unsigned i = 0; site->tail && i < site->tail->count; i++)
		path.address[path.count++] = site->tail->address[i];
	return intern_any(thread, &path, &called);
}

static uint32_t site_intern(struct thread_state *thread, const struct cached_site *site,
	const struct script *script)
{
	uint64_t hash = hash_words(site->hash, script->frame, script->count);
	_Atomic uint64_t *recent = &sites.recent[hash >> (64 - RECENT_BITS)];
	uint64_t word = atomic_load_explicit(recent, memory_order_relaxed);
	uint32_t id;

	_Static_assert(SITE_TABLE <= 0xffff, "an id takes 16 bits");
	if (word && !((word ^ hash << 16) >> 16))
		return word & 0xffff;
	id = intern_new(thread, site, script);
	if (id)
		atomic_store_explicit(recent, hash << 16 | id, memory_order_relaxed);
	return id;
}

static int holds(uintptr_t frame, const uint32_t *offset, const uint64_t *address, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (*(const volatile stack_word *)(frame + offset[i]) != address[i])
			return 0;
	return 1;
}

int site_holds_in_turn(const struct cached_site *site)
{
	return holds(site->frame, site->offset, site->address, SITE_NEAR);
}

int site_tail_holds(const struct cached_site *site)
{
	return holds(site->frame, site->tail->offset, site->tail->address, site->tail->count);
}

static int is_repeated(const uint64_t *address, unsigned count, uint64_t by)
{
	for (unsigned i = 0; i < count; i++)
		if (address[i] == by)
			return 1;
	return 0;
}

uint32_t site_of_touch(struct thread_state *thread, const void *context, void *frame_address)
{
	struct frame_rules_space *space = (void *)thread->tables->scratch;
	struct path path = { 0 };
	struct script script;
	struct unwinder at;
	int more = context ? unwind_begin_at(&at, context, space)
			   : unwind_begin(&at, (uintptr_t)frame_address, space);

	for (; more && path.count < SITE_NEAR; more = unwind_step(&at))
		/* Frames are identified by the address before the return address. */
		if (!is_own_code(at.address))
			path.address[path.count++] = at.address + (unsigned)at.exact;
	script.count = python_frames(thread, script.frame);
	return path.count || script.count ? intern_any(thread, &path, &script) : 0;
}

uint32_t site_of_first_script(struct thread_state *thread)
{
	struct path path = { 0 };
	struct script script;

	script.count = python_frames_of_first(thread, script.frame);
	return script.count ? intern_any(thread, &path, &script) : 0;
}

/* Collects return addresses and their stack slots.  Returns 1 if each slot can be checked later. */
static int walk(struct thread_state *thread, struct cached_site *site, struct site_tail *tail,
	uintptr_t frame)
{
	struct frame_rules_space *space = (void *)thread->tables->scratch;
	struct unwinder at;
	int exact = 1, more;

	_Static_assert(sizeof(*space) <= THREAD_SCRATCH, "it has room");
	more = unwind_begin(&at, frame, space);
	for (; more && site->count < SITE_NEAR; more = unwind_step(&at)) {
		if (is_own_code(at.address))
			continue;
		exact &= at.slot >= frame && at.slot - frame <= UINT32_MAX;
		site->offset[site->count] = (uint32_t)(at.slot - frame);
		site->address[site->count++] = at.address;
	}
	for (; more && tail && tail->count < SITE_FAR; more = unwind_step(&at)) {
		if (at.slot < frame || at.slot - frame > UINT32_MAX ||
			is_repeated(site->address, site->count, at.address) ||
			is_repeated(tail->address, tail->count, at.address))
			break;
		tail->offset[tail->count] = (uint32_t)(at.slot - frame);
		tail->address[tail->count++] = at.address;
	}
	return exact;
}

/*
 * Unwinds and stores the path in the thread's table; it is reused only if every stack word can be
 * checked.
 */
static void learn(struct thread_state *thread, struct cached_site *cached, uintptr_t frame,
	uintptr_t caller, const struct script *script)
{
	struct site_tail *tail = &thread->tables->tails[cached - thread->tables->sites[0]];
	int exact;

	if (script->count)
		python_note_first(thread);
	cached->count = 0;
	tail->count = 0;
	exact = walk(thread, cached, script->count ? NULL : tail, frame);
	if (!cached->count) {
		exact = 0;
		cached->address[cached->count++] = caller;
	}
	cached->tail = tail->count ? tail : NULL;
	cached->hash = hash_words(SITE_SEED, cached->address, cached->count);
	cached->hash = hash_words(cached->hash, tail->address, tail->count);
	for (unsigned i = cached->count; i < SITE_NEAR; i++) {
		cached->offset[i] = cached->offset[cached->count - 1];
		cached->address[i] = cached->address[cached->count - 1];
	}
	cached->id = SITE_UNASKED;
	cached->spread = (frame ^ (frame + cached->offset[SITE_NEAR - 1])) >> PAGE_SHIFT != 0;
	cached->frame = exact ? frame : 0;
}

static inline int is_of(const struct cached_site *cached, uintptr_t frame, uintptr_t caller)
{
	/* A cudart that tail-calls the driver leaves its wrapper as the caller. */
	return cached->frame == frame && (cached->address[0] == caller || is_own_code(caller)) &&
		site_holds(cached);
}

/*
 * Finds the stored path, or stores it in place of the oldest one: unwinding costs a launch or two,
 * checking another way of the set one cache line.
 */
static struct cached_site *find_path(struct thread_state *thread, struct cached_site *set,
	unsigned first, uintptr_t frame, uintptr_t caller, const struct script *script)
{
	struct cached_site *free = NULL, *way;

	for (unsigned i = 0; i < SITE_WAYS; i++) {
		way = &set[(first + i) % SITE_WAYS];
		if (is_of(way, frame, caller))
			return way;
		if (!way->frame && !free)
			free = way;
	}
	way = free ? free : &set[thread->tables->oldest_way++ % SITE_WAYS];
	learn(thread, way, frame, caller, script);
	return way;
}

/* Not cold: with an interpreter every call comes here. */
uint32_t site_find_anew(struct thread_state *thread, struct cached_site *set, unsigned first,
	uintptr_t frame, uintptr_t caller)
{
	struct cached_site *cached;
	struct script script;
	int saved = errno;
	uint32_t id;

	script.count = python_frames(thread, script.frame);
	cached = find_path(thread, set, first, frame, caller, &script);
	if (script.count)
		id = site_intern(thread, cached, &script);
	else if (cached->id == SITE_UNASKED)
		id = cached->id = site_intern(thread, cached, &script);
	else
		id = cached->id;
	errno = saved;
	return id;
}
