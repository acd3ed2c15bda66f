/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder inside the user's program. struct shim is its only global state, struct thread_state
 * the state of a thread; everything else is a function of the two.
 *
 * Rules for all code in preload/ and cupti/: never exit, print to stdout, change errno or a result,
 * hold a lock around the real call, call the runtime API, allocate from the heap, or initialize
 * CUDA. On errors, stop recording and count.
 */
#ifndef CUFENCE_SHIM_H
#define CUFENCE_SHIM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"
#include "calls.h"
#include "machine.h"
#include "writer.h"

enum shim_stage {
	SHIM_IDLE = 0, /* no CUDA call yet: no file, no clock */
	SHIM_STARTING,
	SHIM_ON,
	SHIM_OFF, /* CUFENCE_DISABLE, or the file could not be created */
};

#define SHIM_CONTEXTS 64

struct shim_context {
	uint64_t handle;           /* CUcontext */
	_Atomic uint16_t cupti_id; /* written to the trace, 0: not yet */
};

struct shim {
	/* Used by every call, in one cache line. */
	_Atomic int stage;    /* enum shim_stage */
	_Atomic int scripts;  /* 1: sites have interpreter frames (python.h) */
	uint32_t clock;       /* enum trace_clock */
	uint32_t usage_ticks; /* 20 us, after which a thread's usage is read (usage.h) */
	/*
	 * A page that is cleared by a fork.  First word: 1 where the recorder was started, 0 in a
	 * child.  Second word: ~generation while calls are recorded (shim_admit()), else 0.
	 */
	volatile uint32_t *alive;
	/* The thread that closed the trace, until it makes another call. */
	struct thread_state *volatile ended;
	_Atomic uint64_t next_tick; /* ticks: a call that ends later looks at windows and clocks */
	int (*current_context)(void **); /* cuCtxGetCurrent; NULL: no driver */
	const struct guard *guard;       /* of host memory; NULL: none (guarded.h) */

	uint64_t (*virtual_clock)(void);
	uint64_t calibration_ticks;     /* between two calibrations */
	uint64_t (*device_clock)(void); /* CUPTI's, ns; NULL while CUPTI is off */
	_Atomic uint32_t context_count;
	struct shim_context context[SHIM_CONTEXTS]; /* id is index + 1 */
	struct trace_writer writer;
	const struct hold *hold; /* of streams; NULL: none (holding.h) */
} __attribute__((aligned(64)));

extern struct shim shim;

/* A site stored on this thread: where on the stack its return addresses are. */
#define SITE_SETS 128
#define SITE_WAYS 8 /* a power of two: paths with the same set, or the same frame and caller */
#define SITE_UNASKED UINT32_MAX
#define SITE_NEAR 8 /* of its innermost frames */
#define SITE_FAR (SITE_FRAMES - SITE_NEAR)
struct site_tail {
	unsigned count;
	uint32_t offset[SITE_FAR]; /* of the words, bytes from frame */
	uint64_t address[SITE_FAR];
};
struct cached_site {
	uintptr_t frame; /* frame address of the wrapper */
	uint64_t hash;   /* of the addresses */
	uint32_t id;     /* without script frames, or SITE_UNASKED */
	uint16_t count;
	uint16_t spread;            /* the words are on more than one page */
	struct site_tail *tail;     /* the frames beyond the near ones; NULL: none */
	uint32_t offset[SITE_NEAR]; /* of the words, bytes from frame */
	uint64_t address[SITE_NEAR];
} __attribute__((aligned(64)));

/* A query whose record counts identical following ones. */
struct last_poll {
	struct call_polls *polls; /* NULL: none */
	uint64_t handle;          /* stream or event */
	uint64_t is;              /* its site, call and result */
};
#define POLL_HANDLES 8 /* number of handles polled in turn, a power of two */
#define POLL_DEPTH 2   /* a runtime call and the driver call that it makes */
struct poll_ring {
	struct last_poll of[POLL_HANDLES];
	uint8_t after[POLL_HANDLES]; /* index of the handle polled after this one */
	unsigned found, oldest;      /* index of the last one found, and of the next to replace */
};

/*
 * Reading the clock is a third of the cost of a counted poll, so in a loop without other work most
 * polls are untimed.
 */
struct poll_pace {
	uint32_t batch, left; /* untimed polls after each timed one, and still to come */
	uint64_t read;        /* entry of the last timed one, ticks */
	uint64_t gap;         /* ticks from poll to poll at that time */
	uint64_t inner;       /* entry of a call inside an untimed one, 0: none */
};

/* Zeros are valid: a thread without queries. */
struct thread_polls {
	struct poll_pace pace;
	uint64_t written; /* the rings are valid while chunk.written has this value */
	uint64_t handle;  /* stream or event of the last query */
	struct poll_ring ring[POLL_DEPTH];
};

#define THREAD_SCRATCH 5120

/*
 * State of threads that call CUDA. Not in thread-local storage, which is taken from the stack of
 * every thread, and stacks may be as small as 16 KiB.
 */
struct thread_tables {
	struct thread_polls polls;
	struct launch_arguments arguments; /* of the launch in progress */
	struct cached_site sites[SITE_SETS][SITE_WAYS];
	struct site_tail tails[SITE_SETS * SITE_WAYS]; /* of sites, in the same order */
	unsigned oldest_way;                           /* way to replace in any full set */
	/*
	 * Space for data too large for a stack, used by one function at a time, which calls no
	 * other user.
	 */
	uint64_t scratch[THREAD_SCRATCH / sizeof(uint64_t)];
	struct trace_chunk window; /* the trace's, while the thread writes lives (lives.h) */
	uint32_t lives;            /* 1 + number of their place, 0: it writes to the trace */
};

struct thread_state {
	/* Used by every recorded call, in one cache line. */
	struct trace_chunk chunk;
	struct thread_tables *tables; /* NULL: no call so far */
	uint32_t generation;          /* of the shim at the time chunk was opened */
	uint32_t site;                /* of the outermost call */
	uint32_t correlation;         /* set by the CUPTI callback inside the current driver call */
	uint32_t cupti_context;       /* set with correlation */
	uint64_t context_handle;      /* the last one used; its id is context */

	/*
	 * Used by every call, recorded or not, in one cache line.  Not 0: the last recorded call
	 * was a wait, and a clock read by the thread now is recorded (usage.h).  The exported clock
	 * functions test it: machine/export.h has its offset.
	 */
	uint32_t armed;
	uint32_t known; /* generation of the shim in which the gate knows the thread */
	/*
	 * Stack address at which the recorder is active, 0: inactive; a signal handler's calls are
	 * then not recorded.
	 */
	uintptr_t busy;
	uintptr_t inside;    /* frame of an unrecorded call in progress, 0: none (gate.h) */
	int depth;           /* wrappers on this thread's stack */
	uint32_t caller;     /* lower half of the return address of the outermost one */
	uintptr_t outermost; /* its frame address, + 1 for a runtime call */
	uint64_t seen;       /* ticks at the last entry or exit of a call that is no query */
	/*
	 * FRAME_QUERY: its last driver call; FRAME_UNTIMED: the outermost call itself, before that.
	 */
	int polled;
	uint32_t turn_site; /* with which a turn of the sample begins (turns.h), 0: none */
	uint16_t context;

	uint32_t birth;       /* its number among the created threads, 0: unknown */
	uint32_t bypassing;   /* CUPTI's id of a call in progress without a wrapper */
	uint32_t ready;       /* generation if chunk and tables exist, else 0 */
	uint32_t announced;   /* the largest id of CUPTI's that it had */
	uint32_t kernels;     /* launches that CUPTI announced while it can be closed */
	uint32_t switches[2]; /* voluntary and involuntary ones, at the last reading of usage */
} __attribute__((aligned(64)));

/*
 * After a driver call the caches contain little of the recorder, so every line of code counts.
 * Code that almost every call executes is HOT, placed together and calls nothing (hot.h); the rest
 * is COLD.
 */
#define HOT __attribute__((hot))
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define COLD __attribute__((cold)) NOINLINE
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

extern __thread struct thread_state this_thread __attribute__((visibility("hidden")));

/* This thread's state.  A pointer, because each access through %fs takes more bytes of code. */
static inline struct thread_state *thread_state(void)
{
	struct thread_state *thread = &this_thread;

	__asm__("" : "+r"(thread));
	return thread;
}

/* An address on the stack, for busy. */
#define STACK_PLACE ((uintptr_t)__builtin_frame_address(0))

/* Words of the program that belong to a record: LIST() of calls.def. */
#define CALL_LISTS 5
#define CALL_LIST_WORDS 4096 /* maximum in one record, of all lists together; more are left out */
struct call_list {
	const void *array; /* NULL: zeros */
	uint32_t words;
};

/*
 * Properties of a call known at compile time, in addition to enum call_flag: the table of calls is
 * rarely in a cache at a launch.
 */
enum frame_flag {
	FRAME_RUNTIME = 1 << 8,  /* a cudart call */
	FRAME_QUERY = 1 << 9,    /* of a stream or event */
	FRAME_BLOCKS = 1 << 10,  /* may wait: write an enter record first */
	FRAME_HOST = 1 << 11,    /* not a CUDA call: does not query CUDA */
	FRAME_WAITS = 1 << 12,   /* its purpose is to wait */
	FRAME_LAUNCH = 1 << 13,  /* a kernel launch into a stream */
	FRAME_UNTIMED = 1 << 14, /* one of many queries, began without reading the clock */
	FRAME_SELDOM = 1 << 15,  /* counted only, if it is quick */
	/* Not in call_frame.flags: */
	FRAME_WINDOWED = 1 << 16, /* not recorded outside of windows (K_WINDOWED) */
	FRAME_CONSTANT = 1 << 17, /* gives the same answers again: each recorded outside once */
};
#define FRAME_FLAGS(kind, traits) \
	((kind_has(kind, K_POLLS) ? FRAME_QUERY : 0) | \
		(kind_has(kind, K_WINDOWED) ? FRAME_WINDOWED : 0) | \
		((kind) == KIND_FUNCTION ? FRAME_CONSTANT : 0) | \
		(call_is_wait(kind) ? FRAME_WAITS : 0) | \
		((kind) == KIND_LAUNCH ? FRAME_LAUNCH : 0) | \
		((traits)&TRAIT_BLOCKS ? FRAME_BLOCKS : 0) | \
		((traits)&TRAIT_SELDOM ? FRAME_SELDOM : 0))

/*
 * Returns the number of wrappers enclosing one with these flags and this frame address.  Wrappers
 * that never returned, because a signal handler left them by siglongjmp(), are removed.  Driver
 * calls made by a runtime call, almost all nested calls, are not checked again.
 */
int thread_forget(struct thread_state *thread, uintptr_t frame);
/*
 * Was the frame at `where` left without a return? True if execution continued further up the stack,
 * as after a signal handler's siglongjmp(); the handler may have its own stack.
 */
int frame_was_left(uintptr_t where, uintptr_t now);
static inline int thread_depth(struct thread_state *thread, unsigned flags, void *frame_address)
{
	if (UNLIKELY(thread->depth &&
		    ((uintptr_t)frame_address >= thread->outermost || flags & FRAME_RUNTIME ||
			    !(thread->outermost & 1))))
		return thread_forget(thread, (uintptr_t)frame_address);
	return thread->depth;
}

/* One call in progress, on its wrapper's stack. */
struct call_frame {
	struct thread_state *thread;
	uint64_t enter; /* ticks; 0 while FRAME_UNTIMED */
	uint32_t site;
	uint32_t outer_correlation;
	uint16_t call;
	uint16_t context;
	uint16_t flags;    /* enum call_flag and frame_flag */
	uint16_t rest;     /* 1: the members after it are initialized */
	uint64_t entered;  /* chunk.written after its enter record, 0: none */
	uint64_t function; /* kernel launched with these parameters; 0: none */
	void *const *values, *const *extra;
	/* Only in few calls, initialized by frame_rest(): */
	int launch; /* tables->arguments belong to this call */
	unsigned list_count;
	struct call_attributes attributes; /* flags 0: none */
	struct call_list list[CALL_LISTS];
};

/* Call before setting any member after rest. */
static inline void frame_rest(struct call_frame *frame)
{
	if (frame->rest)
		return;
	frame->rest = 1;
	frame->launch = 0;
	frame->list_count = 0;
	frame->attributes.flags = 0;
}

/*
 * Called around every recorded call. frame_begin() returns 0 if nothing is to be recorded
 * (disabled, or a signal handler within the recorder); then frame_end() must not be called.
 * operand: of the enter record.
 */
int frame_begin(struct call_frame *frame, enum call_id id, unsigned flags, void *frame_address,
	uint64_t operand);
void frame_end(struct call_frame *frame, int result, const uint64_t *field, unsigned count);

/*
 * The pair for FRAME_QUERY. Programs query in loops: most queries are counted in a previous query's
 * record, with as little code and memory as possible.
 */
int poll_begin(struct call_frame *frame, enum call_id id, unsigned flags, void *frame_address);
void poll_end(struct call_frame *frame, int result, const uint64_t *field, unsigned count);

/* What decides about a call outside of windows (window.h), in one cache line. */
struct window_now {
	_Atomic uint32_t reasons;    /* WINDOW_BIT() of each reason to be outside; 0: inside */
	_Atomic int captures;        /* in progress */
	_Atomic int outside;         /* 1: outside of all windows */
	_Atomic uint32_t generation; /* 1, incremented in a child that starts recording */
	_Atomic uint32_t closed;     /* 1: the gate is (gate.h) */
	uint32_t answered;           /* the last request that was (control.h) */
	uint32_t seen;               /* the last request, as control_watch() found it */
	const uint32_t *asked;       /* seen, or the last request in the header of the trace */
	intptr_t thread;             /* this_thread, from the thread pointer on; 0: not started */
} __attribute__((aligned(64)));
extern struct window_now window_now __attribute__((visibility("hidden")));

/*
 * As thread_state(), once the recorder has started, without the cache line of the offset that the
 * linker provides.  Before: memory that may be read.
 */
static ALWAYS_INLINE struct thread_state *thread_nearby(void)
{
	return (struct thread_state *)((char *)__builtin_thread_pointer() + window_now.thread);
}

/*
 * Is the call passed by, without anything else to do first, as nearly all are in a process that is
 * paused?  The gate knows of it then.  Keeps errno.
 */
int call_passes(void *frame_address);

/*
 * A call of FRAME_CONSTANT that gave this answer, an object of one context, has been recorded since
 * code was last unloaded.
 */
int function_is_answered(enum call_id id, uint64_t answer);
void function_note_answer(enum call_id id, uint64_t answer);

/*
 * Either pair, selected at compile time.  In a process that is paused a call costs little more than
 * this condition; one of FRAME_CONSTANT is recorded once it has returned, if its answer is new.
 */
static ALWAYS_INLINE int call_begin(struct call_frame *frame, enum call_id id, unsigned flags,
	void *frame_address, uint64_t operand)
{
	if (flags & (FRAME_WINDOWED | FRAME_CONSTANT) && window_now.reasons &&
		call_passes(frame_address))
		return 0;
	return flags & FRAME_QUERY ? poll_begin(frame, id, flags, frame_address)
				   : frame_begin(frame, id, flags, frame_address, operand);
}

static inline void call_end(struct call_frame *frame, unsigned flags, int result,
	const uint64_t *field, unsigned count)
{
	if (flags & FRAME_QUERY)
		poll_end(frame, result, field, count);
	else
		frame_end(frame, result, field, count);
}

/*
 * Call between the two, for a successful launch (function and stream are its first fields) or a
 * kernel node: frame_end() reads its parameters (arguments.h).
 */
static inline void frame_launch(struct call_frame *frame, uint64_t function, void *const *values,
	void *const *extra)
{
	frame->function = function;
	frame->values = values;
	frame->extra = extra;
}

/* Returns 1 if the thread may write records of a run of that call, on a frame at that address. */
int frame_admits(struct thread_state *thread, enum call_id id, void *frame_address);

/* Records an access of host memory by the program, as guard_recorder.touched() (guard.h). */
int frame_touched(uintptr_t address, int write, const void *context, void *frame_address);

/* Call between the two: stores a list, which frame_end() copies from the program. */
void frame_list(struct call_frame *frame, const void *array, uint64_t words);

/* Opens the trace at the first CUDA call of the process; 1 if recording. */
int shim_begin(void);
static inline int shim_start(void)
{
	return (atomic_load_explicit(&shim.stage, memory_order_acquire) == SHIM_ON &&
		       *shim.alive) ||
		shim_begin();
}

/* Counts one: in the trace, or as soon as it opens.  Returns 1 if it is open. */
int shim_count(enum trace_counter counter);

/* Call when stage or outside has changed. */
void shim_admit(void);

/* Closes the trace, on a thread that does nothing else meanwhile. */
void shim_end(struct thread_state *thread);

/*
 * The same on the recorder's own thread, as the process ends by _exit(): unless a thread is in a
 * CUDA call, which has no end then.  The trace stays open, which says so.
 */
void shim_end_apart(void);

/* A destructor made a successful call: the trace will be closed again. */
void shim_resume(void);

/*
 * Called for the first record of this thread in this process, when thread->generation differs from
 * window_now.generation.  Resets the thread's state before any of it is used.
 */
void thread_begin(struct thread_state *thread);

/* Its end will be noticed. */
void thread_watch(struct thread_state *thread);

/* Allocates the thread's tables.  Returns 0, or -1 when out of memory.  Keeps errno. */
int thread_equip(struct thread_state *thread);

/*
 * Reserves a record in this thread's chunk; trace_commit(&thread->chunk) publishes it.  Keeps
 * errno.
 */
void *thread_reserve(struct thread_state *thread, size_t bytes, enum record_type type);

/* Copies this thread's records to the file, while nobody waits for it.  Keeps errno. */
void thread_empty(struct thread_state *thread);

/* Ticks of the recorder's clock. */
uint64_t clock_read_other(void);
uint64_t clock_monotonic(void); /* ns */
static inline uint64_t clock_read(void)
{
	if (shim.clock == CLOCK_TICKS_TSC)
		return machine_counter();
	return clock_read_other();
}

/* Chooses the clock; libcuda is a dlopen handle or NULL. */
void clock_init(void *libcuda);

/* Writes a calibration record from several samples; thread may be any recording thread. */
void clock_calibrate(struct thread_state *thread, unsigned samples);
/* Does so once a second, and says when next; now: ticks. */
void clock_tick(struct thread_state *thread, uint64_t now);

/* Drops all sites: a new process records them again. */
void site_reset(void);

/* 1: the address is in the recorder's code. */
int site_is_own(uintptr_t address);

/* Records the file mapped at address, unless already recorded. */
void module_note(struct thread_state *thread, uintptr_t address);
/* Records all mapped code at the end: what a library may have done with memory is on no stack. */
void module_note_all(struct thread_state *thread);
void module_reset(void);
/* A read-only mapping of a file. */
struct module_place {
	uintptr_t start, end;
	uint64_t offset;      /* offset of start in the file */
	uint8_t build_id[20]; /* zeros: none */
	char path[1024];
};
/*
 * Returns the mapping at address, for exclusive use until module_give_place(); in between no other
 * function may request one.  Returns NULL if there is none, its path is too long, or it is unknown
 * now; then module_give_place() must not be called.  Keeps errno.
 */
const struct module_place *module_take_place(uintptr_t address);
void module_give_place(void);
/*
 * FIELD_handle of registered memory: pages of a mapped file; 0 after the first 64 calls of a
 * process.  Keeps errno.
 */
uint64_t module_file_page(uintptr_t address);
/* The mapping of a file that contains address; *end 0: unknown.  Keeps errno. */
void module_bounds(uintptr_t address, uintptr_t *start, uintptr_t *end);

/*
 * Records the location of a code image once: its file, or the folder beside the trace if it was
 * made in memory (NVRTC, Triton, XLA); if that folder cannot be written, the image itself is
 * recorded.  Returns its hash; 0 for an image that is unknown or too large.  Call only after the
 * driver has accepted the image: the sizes in its headers are trusted.
 */
uint64_t image_note(const void *image);
/* The same for the contents of a file, which may be removed later, as from a compiler's cache. */
uint64_t image_note_file(const char *path);
void image_reset(void);

/* Returns 1 if an image with that image_hash() is stored beside the trace.  Changes errno. */
int image_store(uint64_t hash, const void *image, uint64_t bytes);
void image_store_reset(void);

/* Records the words that the hash of the current launch stands for, once. */
void words_note(struct thread_state *thread, const struct function_layout *layout,
	void *const *values, void *const *extra);
void words_reset(void);

/* A device's primary context was retained. */
void context_retained(uint64_t context, uint64_t device);

/*
 * Call before the real call: a context, or a device's primary context, is destroyed with everything
 * it contains; with release only if it has no other user.  Device numbers are small, handles are
 * not.
 */
void context_ending(uint64_t context_or_device, int release);

/* Drops all contexts: a forked child has none. */
void context_reset(void);

/* Adds CUPTI's id to the record of a context, once. */
void context_write_id(struct thread_state *thread, uint16_t id, uint32_t cupti_id);
static inline void context_learn(struct thread_state *thread, uint16_t id, uint32_t cupti_id)
{
	uint16_t known = atomic_load_explicit(&shim.context[id - 1].cupti_id, memory_order_relaxed);

	if (UNLIKELY(known != (uint16_t)cupti_id))
		context_write_id(thread, id, cupti_id);
}

/* Code is unloaded: handles may be reused, so each is verified at its next use. */
void function_doubt(void);
/* Drops all kernels: in a forked child. */
void function_reset(void);

/* FNV-1a. */
uint64_t string_hash(const char *text, size_t length);

/* Returns the id of a text, which is recorded at first use; 0: table full. */
uint32_t string_intern(struct thread_state *thread, const char *text);
void string_reset(void);

/* Records environment and command line, once. */
void property_write_all(struct thread_state *thread);
void property_write(struct thread_state *thread, const char *name, const char *value,
	size_t value_length);

#endif
