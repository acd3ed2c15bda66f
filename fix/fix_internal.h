/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the fix.  wrappers.c is between the program and the driver; fix.c finds the plan's
 * calls among the program's and has them made otherwise: freed.c keeps what the program has freed,
 * repeated.c knows which waits have nothing to wait for, limits.c sets limits and pools once,
 * modules.c remembers code, staged.c copies through pinned memory, fences.c orders streams, moved.c
 * has work of the legacy stream in another one.  Below the recorder these are libcufence-try.so;
 * with alone/, which reaches the calls by itself, they are libcufence-fix.so.
 *
 * No lock is held during a call of the driver's.
 */
#ifndef CUFENCE_FIX_INTERNAL_H
#define CUFENCE_FIX_INTERNAL_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdint.h>

#include "fix_plan.h"
#include "hold.h"
#include "machine.h"

/* What moved.c does about a call. */
enum moved_role {
	MOVED_NOTHING,
	MOVED_MOVES,   /* it is made in the library's stream */
	MOVED_TOUCHES, /* the legacy stream comes after what was moved */
	MOVED_WAITS,   /* the host does, and may need no more */
	MOVED_FENCES,  /* its stream does, and what is moved later comes after it */
};

/* A driver call of the program. */
struct fixed_call {
	enum call_id id;
	enum call_kind kind;
	int per_thread;             /* stream 0 is the thread's own default stream */
	uint64_t ptr, bytes, flags; /* fields as passed; 0: none */
	uint64_t array, pool, event, type, value, stream, dst, src, module, image;
	uint64_t *made; /* where an allocation of host memory or a module is returned, or NULL */
	void *real;     /* the driver's function */
	CUstream *stream_at;              /* the parameter of a call that may be moved, or NULL */
	const CUlaunchConfig **config_at; /* or of its configuration */
	CUlaunchConfig config;            /* which is passed in its place */
	enum moved_role role;
	const struct fix_place *place; /* set by fix_before(): the plan's first entry, or NULL */
	uint64_t freed;                /* set by fix_before(): freed_so_far() */
	uint64_t submitted;            /* set by repeated_pass() */
};

/* What a call that frees names. */
static inline uint64_t fixed_handle(const struct fixed_call *call)
{
	return call->ptr ? call->ptr : call->array;
}

/* The stream as the driver's functions take it that are not of the per-thread default stream. */
static inline CUstream fixed_stream(const struct fixed_call *call)
{
	return call->per_thread && !call->stream ? CU_STREAM_PER_THREAD : (CUstream)call->stream;
}

/* Returns 1 for kinds that are treated or noticed here.  Constant if the kind is. */
static inline int fix_concerns(enum call_kind kind)
{
	if (kind_has(kind, K_WORK | K_SILENT | K_MARKER | K_ANY_STREAM))
		return 1;
	if (kind_is_variable(kind))
		return 1;
	switch (kind_family(kind)) {
	case FAMILY_wait:
	case FAMILY_event_wait:
	case FAMILY_query:
	case FAMILY_free:
	case FAMILY_host_memory:
	case FAMILY_limit:
	case FAMILY_allocation:
	case FAMILY_stream_allocation:
	case FAMILY_stream_free:
	case FAMILY_context:
	case FAMILY_context_end:
	case FAMILY_module:
	case FAMILY_capture:
		return 1;
	default:
		return 0;
	}
}

/* The driver's functions, as the library calls them between own_begin() and own_end(). */
struct fix_driver {
	CUresult (*current_context)(CUcontext *context);
	CUresult (*current_device)(CUdevice *device);
	CUresult (*pool)(CUmemoryPool *pool, CUdevice device);
	CUresult (*set_pool)(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
	CUresult (*range)(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr);
	CUresult (*synchronize)(void);
	CUresult (*stream_synchronize)(CUstream stream);
	CUresult (*new_stream)(CUstream *stream, unsigned flags);
	CUresult (*end_stream)(CUstream stream);
	CUresult (*wait_for)(CUevent event);
	CUresult (*new_event)(CUevent *event, unsigned flags);
	CUresult (*end_event)(CUevent event);
	CUresult (*record)(CUevent event, CUstream stream);
	CUresult (*query)(CUevent event);
	CUresult (*stream_wait)(CUstream stream, CUevent event, unsigned flags);
	CUresult (*host_alloc)(void **memory, size_t bytes, unsigned flags);
	CUresult (*host_free)(void *memory);
	CUresult (*upload)(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream);
	CUresult (*attribute)(void *value, CUpointer_attribute attribute, CUdeviceptr ptr);
};

/* The library's only state but what the treatments keep; plan NULL: nothing is done. */
struct fix {
	struct fix_plan *plan;
	const struct hold_recorder *recorder;
	struct fix_driver driver;
	int is_timed; /* the plan's times are wanted */
	/* Called when a finding's fix is turned off, once for each; or NULL.  call: what failed. */
	void (*say_off)(const struct fix_finding *finding, enum call_id call, int result);
};
extern struct fix fix __attribute__((visibility("hidden")));

/* Begins with a plan that is checked: NULL, or why it cannot. */
const char *fix_start(const struct hold_recorder *recorder, struct fix_plan *plan);

/* 1: the plan has a place at the site.  fix_new_site(): as hold.site. */
void fix_new_site(uint32_t id, const uint64_t *address, unsigned count);
int fix_has_place(uint32_t site);

/* The first finding with that treatment which is not turned off, or NULL. */
struct fix_finding *fix_finding_of(enum fix_treatment treatment);

/* The one that moves work, turned off or not, or NULL. */
struct fix_finding *fix_finding_moving(void);

/* 1: the call is at a place of its on that side (enum fix_side). */
int fix_has_side(const struct fixed_call *call, unsigned side);

/* The fix is not applied from now on; what it keeps is given back. */
void fix_turn_off(struct fix_finding *finding, enum fix_surprise why, enum call_id call,
	int result);

/* Called before the real call.  Returns 1 if the call has succeeded without it. */
int fix_before(struct fixed_call *call);
/* Called after it.  Returns 1 if it is to be made once more. */
int fix_again(const struct fixed_call *call, int result);
/* Called after that. */
void fix_after(struct fixed_call *call, int result);
/* wrappers.c: returns the wrapper of a real function, and stores the latter. */
void *fix_wrapper(enum call_id call, int variant, void *real);

static inline void fix_lock(_Atomic int *lock)
{
	while (atomic_exchange_explicit(lock, 1, memory_order_acquire))
		machine_pause();
}

static inline void fix_unlock(_Atomic int *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

static inline CUcontext fix_context(void)
{
	CUcontext context = NULL;

	fix.recorder->own_begin();
	if (fix.driver.current_context(&context))
		context = NULL;
	fix.recorder->own_end();
	return context;
}

/* --- what is kept: forgotten with the context, and in a forked child --- */

/* Keeps what the call frees.  Returns 0 if there is no room: then the call is made. */
int freed_keep(const struct fixed_call *call);
/* Frees what is kept, which waits unless the device is idle.  Returns how many. */
unsigned freed_release(void);
/*
 * Host memory that the program got or may get again.  note: after an allocation, if frees of host
 * memory are treated; take: returns an idle piece of that size and those flags, or 0.
 */
void freed_note_host(uint64_t ptr, uint64_t bytes, uint64_t flags);
uint64_t freed_take_host(uint64_t bytes, uint64_t flags);
/*
 * After a wait for the whole device: what was kept before the wait began is idle; host memory
 * stays, the rest is freed.
 */
uint64_t freed_so_far(void);
void freed_now_idle(uint64_t number);
/*
 * Of the context that is current now: 1 if it is not the first one.  A wait for one of them says
 * nothing of what others do with host memory.
 */
int freed_is_other_context(uint64_t context);
void freed_forget(void);

/*
 * If the plan leaves out repeated waits.  pass: before every call, and after it if it is no wait;
 * note: after a call that has succeeded; wait: 1 if all that the call waits for is over.
 */
void repeated_pass(struct fixed_call *call);
int repeated_wait(const struct fixed_call *call);
void repeated_note(const struct fixed_call *call);

/* 1: the limit is as large already.  note: after any call that set one. */
int limits_have(const struct fixed_call *call);
void limits_note(const struct fixed_call *call);
/* Raises the threshold of the pool that an allocation comes from, once. */
void pools_keep(const struct fixed_call *call, struct fix_finding *finding);

/* 1: a module of before is returned, or stays loaded.  note: after a load; asked: a variable of it
 * was asked for. */
int modules_before(const struct fixed_call *call, struct fix_finding *finding);
void modules_note(const struct fixed_call *call);
void modules_asked(const struct fixed_call *call, struct fix_finding *finding);
void modules_forget(void); /* a context ends: none is given out again */
void modules_child(void);

/* 1: the upload was made from pinned memory. */
int staged_copy(const struct fixed_call *call, struct fix_finding *finding);
void staged_forget(void); /* a context ends: its memory is gone */
void staged_child(void);

/* 1: done.  record: after the earlier call; wait: before the later one. */
int fences_record(const struct fix_place *place, const struct fixed_call *call);
int fences_wait(const struct fix_place *place, const struct fixed_call *call);
void fences_forget(void);

/* Around every call that is made: before it, which may change it, and after it, failed or not.
 * Returns 1 if the call has succeeded without it. */
int moved_before(struct fixed_call *call);
void moved_after(const struct fixed_call *call);
void moved_context_ends(void); /* or another user of it does: what was moved is waited for */
void moved_forget(void);

#endif
