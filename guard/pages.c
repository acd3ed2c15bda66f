/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "guard_internal.h"
#include "system.h"

#define PENDING 1024
#define MEMORIES 8192
#define CONFLICTS 8 /* limit of conflicts reported per access */
#define RUNS 256    /* limit of ranges of whole pages in a copy of rows */
#define ACCESSES 64 /* recorded of the memory of a kernel, by launch */
#define RETRIES 64  /* limit of repeated accesses to a page that another thread has just opened */

/*
 * Guarded memory; all zeros: unused.  Protected are those pages of [first, last) in which the
 * program can use no other bytes than those in use.
 */
struct guarded {
	struct pending_use use;
	uintptr_t first, last;
	uintptr_t start, end; /* of its memory; 0: other data may be in the pages of its ends */
	int managed;
	unsigned accesses; /* USE_ANY: recorded so far */
	uint64_t number;   /* in order of submission */
};

/* A page that is zeroed by a fork. */
struct own {
	_Atomic int lock;
	int alive; /* 1 in the process that started the guard, 0 in a child */
};

static struct {
	const struct guard_recorder *recorder;
	struct own *own;
	struct guarded guarded[PENDING];
	struct host_memory memory[MEMORIES];
	unsigned used;     /* entries of guarded in use are below it */
	unsigned memories; /* the same for memory */
	int key;           /* protection key for managed memory, -1: none */
	uint64_t number;
	_Atomic uint64_t count[GUARDED_COUNT];
	uintptr_t retried; /* address of the last access that found its page open */
	unsigned retries;
} pages;

_Atomic unsigned pages_pending;
_Atomic int pages_have_managed;

void pages_count(enum guard_counter counter)
{
	pages.count[counter]++;
}

uint64_t pages_counted(enum guard_counter counter)
{
	return pages.count[counter];
}

/* --- the lock --- */

/* A handler of another signal on this thread could access guarded memory, and deadlock. */
static void lock(uint64_t *before)
{
	signals_block(before);
	while (atomic_exchange_explicit(&pages.own->lock, 1, memory_order_acquire))
		syscall(SYS_sched_yield);
}

static void unlock(const uint64_t *before)
{
	atomic_store_explicit(&pages.own->lock, 0, memory_order_release);
	signals_restore(before);
}

/* --- protection --- */

/*
 * The driver checks the rights of managed memory when a kernel faults on a page that is not on its
 * device, and ends the kernel; protection keys it does not see.  All keys deny access in all
 * threads that do not set them.
 */
static int protect(uintptr_t first, uintptr_t last, int protection, int managed)
{
	if (first >= last)
		return 0;
	if (managed && pages.key >= 0)
		return (int)syscall(SYS_pkey_mprotect, first, last - first, PROT_READ | PROT_WRITE,
			protection == PROT_NONE ? pages.key : 0);
	return (int)syscall(SYS_mprotect, first, last - first, protection);
}

static int protection_of(const struct guarded *guarded)
{
	return guarded->use.use == USE_READ ? PROT_READ : PROT_NONE;
}

static uintptr_t later(uintptr_t a, uintptr_t b)
{
	return a > b ? a : b;
}

static uintptr_t earlier(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(uintptr_t)(PAGE - 1);
}

static uintptr_t next_page(uintptr_t address)
{
	return page_of(address + PAGE - 1);
}

static unsigned run_count(const struct host_end *end)
{
	uint64_t slices = end->slice ? (end->high - end->low - 1) / end->slice + 1 : 1;

	if (!end->width ||
		(end->width == end->pitch &&
			(slices == 1 || end->slice == end->pitch * end->height)))
		return 1;
	return (unsigned)earlier(slices * end->height, UINT32_MAX);
}

/* Finds the whole pages in one of the ranges of a copy, a row or all of it.  Returns 1 if any. */
static int find_run(const struct guarded *guarded, unsigned number, uintptr_t *first,
	uintptr_t *last)
{
	const struct host_end *end = &guarded->use.end;
	uintptr_t low = end->low, high = end->high;

	if (run_count(end) > 1) {
		low += number / end->height * end->slice + number % end->height * end->pitch;
		high = low + end->width;
	}
	*first = low == guarded->start ? page_of(low) : next_page(low);
	*last = high == guarded->end ? next_page(high) : page_of(high);
	return *first < *last;
}

static int protect_use(const struct guarded *guarded, uintptr_t first, uintptr_t last)
{
	unsigned runs = run_count(&guarded->use.end);
	uintptr_t low, high;
	int rc = 0;

	for (unsigned i = 0; i < runs && !rc; i++)
		if (find_run(guarded, i, &low, &high))
			rc = protect(later(first, low), earlier(last, high), protection_of(guarded),
				guarded->managed);
	return rc;
}

/* Sets the protection that pending work needs for these pages; the stricter one last. */
static void protect_for_all(uintptr_t first, uintptr_t last)
{
	for (int closed = 0; closed < 2; closed++)
		for (unsigned i = 0; i < pages.used; i++) {
			const struct guarded *g = &pages.guarded[i];

			if (g->last && (g->use.use != USE_READ) == closed && g->first < last &&
				g->last > first)
				protect_use(g, first, last);
		}
}

static void finish(struct guarded *guarded)
{
	uintptr_t first = guarded->first, last = guarded->last;
	int managed = guarded->managed;

	*guarded = (struct guarded){ 0 };
	pages_pending--;
	while (pages.used && !pages.guarded[pages.used - 1].last)
		pages.used--;
	protect(first, last, PROT_READ | PROT_WRITE, managed);
	protect_for_all(first, last);
}

static int has_byte(const struct host_end *end, uintptr_t address)
{
	uint64_t at = address - end->low;

	if (address < end->low || address >= end->high)
		return 0;
	if (!end->width)
		return 1;
	if (end->slice)
		at %= end->slice;
	return at / end->pitch < end->height && at % end->pitch < end->width;
}

/* Returns the first byte of [low, high) that belongs to the memory, 0: none. */
static uintptr_t first_byte(const struct host_end *end, uintptr_t low, uintptr_t high)
{
	uintptr_t at = later(low, end->low), next;

	if (at >= high || at >= end->high)
		return 0;
	if (has_byte(end, at))
		return at;
	/*
	 * The address is between two rows: the next row starts after its pitch, or with its slice.
	 */
	next = at - (at - end->low) % end->pitch + end->pitch;
	if (end->slice && !has_byte(end, next))
		next = at - (at - end->low) % end->slice + end->slice;
	return next < high && has_byte(end, next) ? next : 0;
}

static int conflicts(const struct guarded *guarded, int write)
{
	return write || guarded->use.use != USE_READ;
}

/* --- pinned memory --- */

/* Returns a free entry, NULL if there is none; clears those of memory in [start, end). */
static struct host_memory *make_room(uintptr_t start, uintptr_t end)
{
	struct host_memory *found = NULL;

	for (unsigned i = 0; i < pages.memories; i++) {
		struct host_memory *m = &pages.memory[i];

		if (m->start < end && m->end > start)
			*m = (struct host_memory){ 0 };
		if (!m->end && !found)
			found = m;
	}
	if (!found && pages.memories < MEMORIES)
		found = &pages.memory[pages.memories++];
	return found;
}

int pages_add_memory(const struct host_memory *memory)
{
	struct host_memory *place;
	uint64_t before;

	lock(&before);
	place = make_room(memory->start, memory->end);
	if (place)
		*place = *memory;
	if (memory->managed)
		pages_have_managed = 1;
	unlock(&before);
	return place ? 0 : -1;
}

static struct host_memory *find_memory(uintptr_t address)
{
	for (unsigned i = 0; i < pages.memories; i++)
		if (address >= pages.memory[i].start && address < pages.memory[i].end)
			return &pages.memory[i];
	return NULL;
}

void pages_remove_memory(uintptr_t start)
{
	struct host_memory *memory;
	uint64_t before;

	lock(&before);
	memory = find_memory(start);
	if (memory && memory->start != start)
		memory = NULL;
	for (unsigned i = 0; memory && i < pages.used; i++) {
		struct guarded *g = &pages.guarded[i];

		if (g->last && g->use.end.low >= memory->start && g->use.end.low < memory->end)
			finish(g);
	}
	if (memory)
		*memory = (struct host_memory){ 0 };
	unlock(&before);
}

int pages_find_memory(uintptr_t address, struct host_memory *memory)
{
	const struct host_memory *found;
	uint64_t before;

	if (!pages.own)
		return 0;
	lock(&before);
	found = find_memory(address);
	if (found)
		*memory = *found;
	unlock(&before);
	return found != NULL;
}

int pages_are_guarded(void)
{
	return pages.own && pages.own->alive;
}

/* --- copies --- */

static struct guarded *free_place(void)
{
	struct guarded *oldest = &pages.guarded[0];

	for (unsigned i = 0; i < PENDING; i++) {
		if (!pages.guarded[i].last) {
			if (i >= pages.used)
				pages.used = i + 1;
			return &pages.guarded[i];
		}
		if (pages.guarded[i].number < oldest->number)
			oldest = &pages.guarded[i];
	}
	pages_count(GUARDED_CROWDED);
	finish(oldest);
	return free_place();
}

/* Later work of the same stream that uses the same memory takes the place of earlier work. */
static int renew(const struct pending_use *use)
{
	for (unsigned i = 0; i < pages.used && use->use == USE_ANY; i++) {
		struct guarded *g = &pages.guarded[i];

		if (!g->last || g->use.use != USE_ANY || g->use.stream != use->stream ||
			g->use.end.low != use->end.low || g->use.end.high != use->end.high)
			continue;
		g->use.submitted = use->submitted;
		if (g->accesses)
			protect_use(g, g->first, g->last);
		g->accesses = 0;
		return 1;
	}
	return 0;
}

static void add_use(const struct pending_use *use)
{
	const struct host_memory *memory = find_memory(use->end.low);
	struct guarded guarded = { .use = *use }, *place;
	unsigned runs = run_count(&use->end), whole = 0;
	uintptr_t first, last;

	if (!memory || use->end.high > memory->end) {
		pages_count(GUARDED_UNKNOWN);
		return;
	}
	if (memory->managed && pages_managed())
		return;
	guarded.managed = memory->managed;
	if (memory->base) {
		guarded.start = memory->start;
		guarded.end = memory->end;
	}
	if (renew(use))
		return;
	for (unsigned i = 0; i < runs && runs <= RUNS; i++) {
		if (!find_run(&guarded, i, &first, &last))
			continue;
		guarded.first = whole++ ? guarded.first : first;
		guarded.last = last;
	}
	if (!whole) {
		pages_count(GUARDED_PART_OF_PAGE);
		return;
	}
	place = free_place();
	*place = guarded;
	place->number = ++pages.number;
	pages_pending++;
	if (protect_use(place, place->first, place->last)) {
		pages_count(GUARDED_REFUSED);
		finish(place);
		return;
	}
	pages_count(GUARDED_COPIES);
	protect_for_all(place->first, place->last);
}

void pages_guard(const struct pending_use *use)
{
	uint64_t before;
	int saved = errno;

	lock(&before);
	/* After its handler was left by longjmp(), or blocked by a call that is not seen. */
	if (before & UINT64_C(1) << (SIGSEGV - 1))
		pages_count(GUARDED_BLOCKED);
	else if (pages.own->alive)
		add_use(use);
	unlock(&before);
	errno = saved;
}

static void complete(int by_stream, uint64_t of, uint64_t until)
{
	uint64_t before;
	int saved = errno;

	if (!pages_pending)
		return;
	lock(&before);
	for (unsigned i = 0; i < pages.used; i++) {
		struct guarded *g = &pages.guarded[i];

		if (g->last && g->use.submitted <= until &&
			(by_stream ? g->use.stream == of : !of || g->use.context == of))
			finish(g);
	}
	unlock(&before);
	errno = saved;
}

void pages_complete_stream(uint64_t stream, uint64_t until)
{
	complete(1, stream, until);
}

void pages_complete(unsigned context, uint64_t until)
{
	complete(0, context, until);
}

/* --- accesses --- */

/*
 * Which bytes a kernel uses is not known here: an access opens only the pages from there on, ever
 * more of them, until there were ACCESSES.  Returns the end of the pages to open, 0: all.
 */
static uintptr_t open_part(struct guarded *guarded, uintptr_t page)
{
	if (guarded->use.use != USE_ANY || guarded->accesses == ACCESSES)
		return 0;
	return earlier(guarded->last, page + ((uintptr_t)PAGE << guarded->accesses++ / 8));
}

/*
 * Handles an instruction's access to a page.  Returns 1 if it can be repeated; sets *touched for a
 * conflict.
 */
static int open_page(uintptr_t address, int write, int *touched)
{
	uintptr_t page = page_of(address), part = 0;
	int found = 0, managed = 0;

	for (unsigned i = 0; i < pages.used; i++) {
		struct guarded *g = &pages.guarded[i];
		uintptr_t end;

		/* Uses that did not cause the fault are left. */
		if (!g->last || page < g->first || page >= g->last || !conflicts(g, write))
			continue;
		found = 1;
		if (has_byte(&g->use.end, address))
			*touched = 1;
		else
			pages_count(GUARDED_BEHIND);
		managed = g->managed;
		end = open_part(g, page);
		if (end)
			part = part ? earlier(part, end) : end;
		else
			finish(g);
	}
	/* After a read, writes are of interest still. */
	if (part)
		protect(page, part, write ? PROT_READ | PROT_WRITE : PROT_READ, managed);
	return found;
}

/* Another thread may have opened the page in the meantime. */
static int is_open_again(uintptr_t address)
{
	if (!find_memory(address))
		return 0;
	if (pages.retried != address) {
		pages.retried = address;
		pages.retries = 0;
	}
	return pages.retries++ < RETRIES;
}

static void note(int reported)
{
	pages_count(reported ? GUARDED_TOUCHES : GUARDED_BY_CUDA);
}

/* A fault, and whether the instruction can be repeated. */
struct fault {
	uintptr_t address;
	const ucontext_t *at;
	int found;
};

static void handle(void *arg)
{
	struct fault *fault = arg;
	int write = machine_wrote(fault->at), touched = 0;
	uint64_t before;

	lock(&before);
	fault->found = open_page(fault->address, write, &touched) || is_open_again(fault->address);
	unlock(&before);
	if (touched && pages.own->alive)
		note(pages.recorder->touched(fault->address, write, fault->at,
			(void *)machine_stack_pointer(fault->at)));
}

/*
 * The stack may be an alternate one of a few KiB, most of which the kernel's frame takes: what runs
 * on it is as little as possible (doc/GUARD.md).
 */
static int on_fault(const siginfo_t *info, void *context)
{
	struct fault fault = { (uintptr_t)info->si_addr, context, 0 };

	if (info->si_code == SEGV_ACCERR || info->si_code == SEGV_PKUERR)
		stacks_call(handle, &fault);
	return fault.found;
}

void pages_open(struct opened *opened, const void *address, uint64_t bytes, int write,
	uint64_t offset)
{
	uintptr_t low = (uintptr_t)address, high = low + bytes;
	int saved = errno;
	uint64_t before;

	lock(&before);
	for (unsigned i = 0; i < pages.used; i++) {
		struct guarded *g = &pages.guarded[i];
		uintptr_t at;

		if (!g->last || g->first >= high || g->last <= low || !conflicts(g, write))
			continue;
		at = first_byte(&g->use.end, low, high);
		if (!at)
			pages_count(GUARDED_BEHIND);
		if (at && (!opened->conflicts || at - low + offset < opened->after))
			*opened = (struct opened){ 1, at - low + offset, at };
		finish(g);
	}
	unlock(&before);
	errno = saved;
}

void pages_report(const struct opened *opened, uint64_t moved, int write, void *frame_address)
{
	int saved = errno;

	if (opened->conflicts && moved > opened->after && pages.own->alive)
		note(pages.recorder->touched(opened->address, write, NULL, frame_address));
	errno = saved;
}

/* --- start and fork --- */

const char *pages_start(const struct guard_recorder *recorder)
{
	pages.recorder = recorder;
	if (getauxval(AT_PAGESZ) != PAGE)
		return "pages have another size than 4096 bytes";
	if (!pages.own) {
		void *own = system_map(PAGE, 0, -1, 0);

		if (own == MAP_FAILED)
			return "no memory";
		system_advise(own, PAGE, MADV_WIPEONFORK);
		pages.own = own;
		if (stacks_start())
			return "no memory";
		pages.key = (int)syscall(SYS_pkey_alloc, 0, PKEY_DISABLE_ACCESS);
	}
	pages.own->alive = 1;
	return recorder->watch(on_fault) ? "SIGSEGV is ignored" : NULL;
}

/* A simulated device ignores the rights of pages. */
const char *pages_managed(void)
{
	return pages.key >= 0 || pages.recorder->simulated() ? NULL
							     : "the system has no protection keys";
}

void pages_child(void)
{
	pages_complete(0, UINT64_MAX);
	pages.memories = 0;
	for (unsigned i = 0; i < GUARDED_COUNT; i++)
		pages.count[i] = 0;
}
