/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of sites, contexts and kernels that almost every call executes; preload/frame.c inlines
 * them into its own hot code.  The rest is in site.c, context.c and function.c.
 */
#ifndef CUFENCE_HOT_H
#define CUFENCE_HOT_H

#include "shim.h"

/* Are its calls recorded, without anything else to do first? */
static inline int thread_is_ready(const struct thread_state *thread)
{
	return __atomic_load_n(&shim.alive[1], __ATOMIC_ACQUIRE) == ~thread->ready && !thread->busy;
}

/*
 * A call begins: as thread_is_ready(), and the thread is busy then.  In this order: who closes the
 * gate has closed the window before, and sees that the thread is busy if it has not seen that.
 */
static inline int thread_enter(struct thread_state *thread, void *frame_address)
{
	if (UNLIKELY(thread->busy))
		return 0;
	thread->busy = (uintptr_t)frame_address;
	atomic_signal_fence(memory_order_seq_cst);
	if (UNLIKELY(__atomic_load_n(&shim.alive[1], __ATOMIC_ACQUIRE) != ~thread->ready))
		thread->busy = 0;
	return thread->busy != 0;
}

/*
 * For what thread_enter() refused.  1: the thread is ready, or would be inside a window while this
 * call is recorded anyway; it is busy then.  flags: those of frame_begin(); keeps errno.
 */
int thread_make_ready(struct thread_state *thread, enum call_id id, unsigned flags,
	void *frame_address);

/* Stack words, of any type when written. */
typedef uintptr_t __attribute__((may_alias)) stack_word;

/* The wrapper's return address is above the saved frame pointer. */
static inline uintptr_t caller_of(void *frame_address)
{
	return ((const stack_word *)frame_address)[1];
}

/*
 * Checks frames outwards from the first one, each only if the previous ones hold: another stack at
 * the same address (coroutines) may be unmapped beyond that.
 */
int site_holds_in_turn(const struct cached_site *site);

/* The same for the frames beyond the near ones, which few stacks have. */
int site_tail_holds(const struct cached_site *site);

/* Does the stack still have the site's return addresses at the same places? */
static inline int site_holds(const struct cached_site *site)
{
	const char *frame = (const char *)site->frame;
	uint64_t differs = 0;

	if (UNLIKELY(site->spread))
		return site_holds_in_turn(site) && (!site->tail || site_tail_holds(site));
		/*
		 * Usually all match: one branch for a constant number of them, see learn() in
		 * site.c.
		 */
#pragma GCC unroll 8
	for (unsigned i = 0; i < SITE_NEAR; i++)
		differs |= *(const stack_word *)(frame + site->offset[i]) ^ site->address[i];
	return !differs && (!UNLIKELY(site->tail) || site_tail_holds(site));
}

/* As site_find(), for a path that is not in its first slot. */
uint32_t site_find_anew(struct thread_state *thread, struct cached_site *set, unsigned first,
	uintptr_t frame, uintptr_t caller);

/* Returns the id of the call site of the wrapper with this frame, 0: unknown.  Keeps errno. */
static inline uint32_t site_find(struct thread_state *thread, void *frame_address)
{
	uintptr_t frame = (uintptr_t)frame_address, caller = caller_of(frame_address);
	/*
	 * A sum: frames of a recursion are distributed evenly over the sets, for any stack address.
	 */
	uint64_t hash = (frame + (caller << 16)) * 0x9e3779b97f4a7c15u;
	struct cached_site *set = thread->tables->sites[(hash >> 32) % SITE_SETS];
	unsigned first = (unsigned)(hash >> 48) % SITE_WAYS;
	const struct cached_site *cached = &set[first];

	if (UNLIKELY(cached->frame != frame || cached->address[0] != caller ||
		    cached->id == SITE_UNASKED || shim.scripts || !site_holds(cached)))
		return site_find_anew(thread, set, first, frame, caller);
	return cached->id;
}

/* Returns the id of a context other than the last one. */
uint16_t context_changed(struct thread_state *thread, uint64_t handle);

/*
 * Returns the id of the current context, 0: none; records it and its device at first use.  Keeps
 * errno.
 */
static inline uint16_t context_current(struct thread_state *thread)
{
	void *context = NULL;

	if (UNLIKELY(!shim.current_context || shim.current_context(&context) || !context))
		return 0;
	if (UNLIKELY((uint64_t)(uintptr_t)context != thread->context_handle))
		return context_changed(thread, (uint64_t)(uintptr_t)context);
	return thread->context;
}

/*
 * Returns the id of the site at which a signal interrupted the thread, or without a context of the
 * caller of the function with that frame address; 0: unknown.  Changes errno.
 */
uint32_t site_of_touch(struct thread_state *thread, const void *context, void *frame_address);

/* Returns the id of the site where the script of the process's first thread is, 0: unknown. */
uint32_t site_of_first_script(struct thread_state *thread);

static inline void set_duration(struct call_record *record, uint64_t ticks)
{
	if (ticks >> 32) {
		record->head.flags |= CALL_LONG;
		ticks /= CALL_LONG_UNIT;
	}
	record->duration = ticks >> 32 ? UINT32_MAX : (uint32_t)ticks;
}

/*
 * Returns the place that announces a launch, in the cache line that its own record will be written
 * to; NULL: no window.
 */
static inline struct enter_record *enter_place(struct thread_state *thread)
{
	struct enter_record *place = trace_announced(&thread->chunk);

	if (UNLIKELY(!place) && thread->chunk.header) {
		thread_empty(thread);
		place = trace_announced(&thread->chunk);
	}
	if (UNLIKELY(!place))
		return NULL;
	place->head.words = ENTER_BYTES / TRACE_ALIGN;
	place->head.type = RECORD_ENTER;
	return place;
}

#define FUNCTION_TABLE 16384 /* a power of two */
/*
 * A program's first kernels use slots in two pages, which are likely still in the TLB at the next
 * launch.
 */
#define NEAR_FUNCTIONS 256
#define NEAR_TRIES 4

/* Kernels by handle. */
struct known_function {
	_Atomic uint64_t handle;
	_Atomic(struct function_layout *) layout;
	_Atomic uint64_t name;  /* hash */
	_Atomic uint32_t epoch; /* when it was last verified */
};
extern struct known_function functions[FUNCTION_TABLE] __attribute__((visibility("hidden")));

/* Incremented by unloads: afterwards a handle may be another kernel's. */
extern _Atomic uint32_t function_epoch __attribute__((visibility("hidden")));

/* Slots of a handle; the first ones are near. */
static inline uint32_t function_place(uint64_t handle, unsigned tries)
{
	uint64_t hash = handle * 0x9e3779b97f4a7c15u;
	uint32_t first = (uint32_t)(hash >> 32);

	return tries < NEAR_TRIES ? first % NEAR_FUNCTIONS ^ tries
				  : ((first >> 8) + tries) % FUNCTION_TABLE;
}

/* As launch_layout(), for uncommon kernels. */
const struct function_layout *launch_other(struct call_frame *frame, const uint64_t *field);

/*
 * For the launch in frame, whose fields begin with the kernel and the stream: returns the layout of
 * its parameters if they are to be copied unchanged, or NULL if they are in tables->arguments.
 * Records the kernel's name and layout at first use.  Keeps errno.
 */
static inline const struct function_layout *launch_layout(struct call_frame *frame,
	const uint64_t *field)
{
	const struct known_function *entry = &functions[function_place(frame->function, 0)];
	uint64_t found = atomic_load_explicit(&entry->handle, memory_order_acquire);
	const struct function_layout *layout = entry->layout;

	if (UNLIKELY(found != frame->function || !layout || entry->epoch != function_epoch ||
		    !layout->asked || !layout->words || !frame->values))
		return launch_other(frame, field);
	return layout;
}

#endif
