/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "guard_parts.h"
#include "system.h"

#define PAGE 4096u
#define PENDING 1024
#define MEMORIES 8192
#define CONFLICTS 8 /* limit of conflicts reported per access */
#define RETRIES 64  /* limit of repeated accesses to a page that another thread has just opened */

/* A guarded copy and its pages [first, last); all zeros: unused. */
struct guarded {
	struct pending_copy copy;
	uintptr_t first, last;
	uint64_t number; /* in order of submission */
};

struct host_memory {
	uintptr_t start, end;
	int owns_pages;
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
	uint64_t number;
	_Atomic uint64_t count[GUARDED_COUNT];
	uintptr_t retried; /* address of the last access that found its page open */
	unsigned retries;
} pages;

_Atomic unsigned pages_pending;

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
	uint64_t all = ~(UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1));

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof(all));
	while (atomic_exchange_explicit(&pages.own->lock, 1, memory_order_acquire))
		syscall(SYS_sched_yield);
}

static void unlock(const uint64_t *before)
{
	atomic_store_explicit(&pages.own->lock, 0, memory_order_release);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof(*before));
}

/* --- protection --- */

static int protect(uintptr_t first, uintptr_t last, int protection)
{
	return first < last ? (int)syscall(SYS_mprotect, first, last - first, protection) : 0;
}

static int protection_of(const struct guarded *guarded)
{
	return guarded->copy.written ? PROT_NONE : PROT_READ;
}

static uintptr_t later(uintptr_t a, uintptr_t b)
{
	return a > b ? a : b;
}

static uintptr_t earlier(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

/* Sets the protection that pending copies need for these pages; for written memory last. */
static void protect_for_all(uintptr_t first, uintptr_t last)
{
	for (int written = 0; written < 2; written++)
		for (unsigned i = 0; i < pages.used; i++) {
			const struct guarded *g = &pages.guarded[i];

			if (g->last && g->copy.written == written)
				protect(later(first, g->first), earlier(last, g->last),
					protection_of(g));
		}
}

static void open_range(uintptr_t first, uintptr_t last)
{
	protect(first, last, PROT_READ | PROT_WRITE);
	protect_for_all(first, last);
}

static void finish(struct guarded *guarded)
{
	uintptr_t first = guarded->first, last = guarded->last;

	*guarded = (struct guarded){ 0 };
	pages_pending--;
	while (pages.used && !pages.guarded[pages.used - 1].last)
		pages.used--;
	open_range(first, last);
}

/* Gives up the first or last page of a copy if it is that one; any other page: all of it. */
static void leave_page(struct guarded *guarded, uintptr_t page)
{
	if (guarded->last - guarded->first == PAGE ||
		(page != guarded->first && page + PAGE != guarded->last)) {
		finish(guarded);
		return;
	}
	if (page == guarded->first)
		guarded->first += PAGE;
	else
		guarded->last -= PAGE;
	open_range(page, page + PAGE);
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
	return write || guarded->copy.written;
}

/* --- pinned memory --- */

void pages_add_memory(uintptr_t start, uint64_t bytes, int owns_pages)
{
	uintptr_t end = start + bytes;
	unsigned place = MEMORIES;
	uint64_t before;

	lock(&before);
	for (unsigned i = 0; i < pages.memories; i++) {
		struct host_memory *m = &pages.memory[i];

		/* Replaces memory that was there before. */
		if (m->start < end && m->end > start)
			m->start = m->end = 0;
		if (!m->end && place == MEMORIES)
			place = i;
	}
	if (place == MEMORIES && pages.memories < MEMORIES)
		place = pages.memories++;
	if (place < MEMORIES)
		pages.memory[place] =
			(struct host_memory){ start, end, owns_pages && start % PAGE == 0 };
	unlock(&before);
}

static const struct host_memory *find_memory(uintptr_t address)
{
	for (unsigned i = 0; i < pages.memories; i++)
		if (address >= pages.memory[i].start && address < pages.memory[i].end)
			return &pages.memory[i];
	return NULL;
}

int pages_is_pinned(uintptr_t address)
{
	uint64_t before;
	int found;

	lock(&before);
	found = find_memory(address) != NULL;
	unlock(&before);
	return found;
}

/* Finds the pages that belong to the memory alone. */
static void find_own_pages(const struct host_memory *memory, uintptr_t *first, uintptr_t *last)
{
	*first = (memory->start + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	*last = memory->end & ~(uintptr_t)(PAGE - 1);
	if (!memory->owns_pages || *last == memory->end)
		return;
	for (unsigned i = 0; i < pages.memories; i++)
		if (pages.memory[i].start >= memory->end && pages.memory[i].start < *last + PAGE)
			return;
	*last += PAGE;
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

static void add_copy(const struct pending_copy *copy)
{
	const struct host_memory *memory = find_memory(copy->end.low);
	uintptr_t first, last;
	struct guarded *place;

	if (!memory || copy->end.high > memory->end) {
		pages_count(GUARDED_UNKNOWN);
		return;
	}
	find_own_pages(memory, &first, &last);
	first = later(first, copy->end.low & ~(uintptr_t)(PAGE - 1));
	last = earlier(last, (copy->end.high + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	if (first >= last) {
		pages_count(GUARDED_PART_OF_PAGE);
		return;
	}
	place = free_place();
	*place = (struct guarded){ *copy, first, last, ++pages.number };
	pages_pending++;
	if (protect(first, last, protection_of(place))) {
		pages_count(GUARDED_REFUSED);
		finish(place);
		return;
	}
	pages_count(GUARDED_COPIES);
	protect_for_all(first, last);
}

void pages_guard(const struct pending_copy *copy)
{
	uint64_t before;
	int saved = errno;

	lock(&before);
	if (pages.own->alive)
		add_copy(copy);
	unlock(&before);
	errno = saved;
}

void pages_complete(uint64_t stream, uint64_t until)
{
	uint64_t before;
	int saved = errno;

	if (!pages_pending)
		return;
	lock(&before);
	for (unsigned i = 0; i < pages.used; i++) {
		struct guarded *g = &pages.guarded[i];

		if (g->last && g->copy.submitted <= until &&
			(stream == ANY_STREAM || g->copy.stream == stream))
			finish(g);
	}
	unlock(&before);
	errno = saved;
}

/* --- accesses --- */

/*
 * Handles an instruction's access to a page.  Returns 1 if it can be repeated; sets *touched for a
 * conflict.
 */
static int open_page(uintptr_t address, int write, int *touched)
{
	uintptr_t page = address & ~(uintptr_t)(PAGE - 1);
	int found = 0;

	for (unsigned i = 0; i < pages.used; i++) {
		struct guarded *g = &pages.guarded[i];

		if (!g->last || page < g->first || page >= g->last)
			continue;
		/* This copy did not cause the fault. */
		if (!conflicts(g, write))
			continue;
		found = 1;
		if (has_byte(&g->copy.end, address)) {
			*touched = 1;
			finish(g);
		} else {
			pages_count(GUARDED_BESIDE);
			leave_page(g, page);
		}
	}
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

static int on_fault(const siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	const ucontext_t *at = context;
	int write = (at->uc_mcontext.gregs[REG_ERR] & 2) != 0, touched = 0, found;
	uint64_t before;

	if (info->si_code != SEGV_ACCERR)
		return 0;
	lock(&before);
	found = open_page(address, write, &touched) || is_open_again(address);
	unlock(&before);
	if (touched && pages.own->alive)
		note(pages.recorder->touched(address, write, context, __builtin_frame_address(0)));
	return found;
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
		at = first_byte(&g->copy.end, low, high);
		if (!at)
			pages_count(GUARDED_BESIDE);
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
	if (!pages.own) {
		void *own = system_map(PAGE, 0, -1, 0);

		if (own == MAP_FAILED)
			return "no memory";
		system_advise(own, PAGE, MADV_WIPEONFORK);
		pages.own = own;
	}
	pages.own->alive = 1;
	return recorder->watch(on_fault) ? "SIGSEGV is ignored" : NULL;
}

void pages_child(void)
{
	pages_complete(ANY_STREAM, UINT64_MAX);
	pages.memories = 0;
	for (unsigned i = 0; i < GUARDED_COUNT; i++)
		pages.count[i] = 0;
}
