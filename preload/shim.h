/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder inside somebody else's program.  struct shim is its only global state, struct
 * thread_state what each thread has; everything else is a function over the two.
 *
 * The rules, everywhere in preload/ and cupti/: never exit, print to stdout, change errno or a
 * result, hold a lock around the real call, call the runtime API, allocate from the heap, or
 * initialize CUDA.  In trouble stop recording and count.
 */
#ifndef CUFENCE_SHIM_H
#define CUFENCE_SHIM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"
#include "calls.h"
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
	/* What every call looks at, in one line of the cache. */
	_Atomic int stage;           /* enum shim_stage */
	_Atomic int outside;         /* 1: no window is open (window.h) */
	_Atomic int scripts;         /* 1: sites have frames of an interpreter (python.h) */
	uint32_t clock;              /* enum trace_clock */
	_Atomic uint32_t generation; /* counts processes: 1, +1 in a child that starts anew */
	/*
	 * A page that a fork wipes.  Its first word: 1 where the recorder was started, 0 in a
	 * child; its second: ~generation while calls are recorded (shim_admit()), else 0.
	 */
	volatile uint32_t *alive;
	/* The thread that wrote the last word, until it makes another call. */
	struct thread_state *volatile ended;
	_Atomic uint64_t next_calibration; /* ticks */
	int (*current_context)(void **);   /* cuCtxGetCurrent; NULL: of no driver */
	const struct guard *guard;         /* of host memory; NULL: none (guarded.h) */

	uint64_t (*virtual_clock)(void);
	uint64_t calibration_ticks;     /* between two */
	uint64_t (*device_clock)(void); /* CUPTI's, ns; NULL while CUPTI is off */
	_Atomic uint32_t context_count;
	struct shim_context context[SHIM_CONTEXTS]; /* id is index + 1 */
	struct trace_writer writer;
	const struct hold *hold; /* of streams; NULL: none (holding.h) */
} __attribute__((aligned(64)));

extern struct shim shim;

/* A site as learned on this thread: where on the stack its return addresses lie. */
#define SITE_SETS 128
#define SITE_WAYS 8 /* a power of two: paths that share a set, or a frame and a caller */
#define SITE_UNASKED UINT32_MAX
#define SITE_NEAR 8 /* of its frames, the innermost */
#define SITE_FAR (SITE_FRAMES - SITE_NEAR)
struct site_tail {
	unsigned count;
	uint32_t offset[SITE_FAR]; /* of the words, in bytes from frame */
	uint64_t address[SITE_FAR];
};
struct cached_site {
	uintptr_t frame; /* frame address of the wrapper */
	uint64_t hash;   /* of the addresses */
	uint32_t id;     /* without a script's frames, or SITE_UNASKED */
	uint16_t count;
	uint16_t spread;            /* the words lie on more than one page */
	struct site_tail *tail;     /* the frames beyond the near ones; NULL: none */
	uint32_t offset[SITE_NEAR]; /* of the words, in bytes from frame */
	uint64_t address[SITE_NEAR];
} __attribute__((aligned(64)));

/* A query, whose record counts the next one like it. */
struct last_poll {
	struct call_polls *polls; /* NULL: none */
	uint64_t handle;          /* stream or event */
	uint64_t is;              /* its site, call and answer */
};
#define POLL_HANDLES 8 /* as many are asked in turn, a power of two */
#define POLL_DEPTH 2   /* a runtime call and the driver call beneath it */
struct poll_ring {
	struct last_poll of[POLL_HANDLES];
	uint8_t after[POLL_HANDLES]; /* where the one that was asked after it is */
	unsigned found, oldest;      /* where the last one was found, where the next new one goes */
};

/*
 * Reading the clock is a third of what a counted poll costs, so that in a loop that does nothing
 * else most polls do without.
 */
struct poll_pace {
	uint32_t batch, left; /* polls without the clock after each one with it, and to come */
	uint64_t read;        /* when the last one with it was entered */
	uint64_t gap;         /* ticks from poll to poll, then */
	uint64_t inner;       /* when a call within one without it was entered, 0: none */
};

/* Zeros are valid: of a thread that has asked nothing. */
struct thread_polls {
	struct poll_pace pace;
	uint64_t written; /* the rings are valid as long as chunk.written is this */
	uint64_t handle;  /* what the last query was about */
	struct poll_ring ring[POLL_DEPTH];
};

#define THREAD_SCRATCH 5120

/*
 * What only threads that call CUDA have: thread-local storage is taken out of the stack of every
 * thread, which may be as small as 16 KiB.
 */
struct thread_tables {
	struct thread_polls polls;
	struct launch_arguments arguments; /* of the launch in progress */
	struct cached_site sites[SITE_SETS][SITE_WAYS];
	struct site_tail tails[SITE_SETS * SITE_WAYS]; /* of sites, in their order */
	unsigned oldest_way;                           /* gives way in whichever set is full */
	/* What is too large for a stack, of one function at a time, which calls no other one. */
	uint64_t scratch[THREAD_SCRATCH / sizeof(uint64_t)];
};

struct thread_state {
	/* What every call looks at, in one line of the cache. */
	struct trace_chunk chunk;
	struct thread_tables *tables; /* NULL: it has made no call yet */
	uint32_t generation;          /* of the shim that chunk belongs to */
	uint32_t site;                /* of the outermost call */
	uint32_t correlation;         /* set by the CUPTI callback inside the current driver call */
	int depth;                    /* wrappers on this thread's stack */
	/* Where on the stack the recorder is at work, 0: nowhere; a handler's calls go by then. */
	uintptr_t busy;

	uintptr_t outermost; /* frame address of that wrapper, + 1 of a runtime call */
	uint32_t caller;     /* the low half of its return address */
	/* FRAME_QUERY: its last driver call; FRAME_UNTIMED: the outermost itself, before that. */
	int polled;
	uint32_t cupti_context; /* set with correlation */
	uint16_t context;
	uint64_t context_handle; /* the last one seen, whose id context is */

	uint32_t birth;     /* its number among the threads made, 0: unknown */
	uint32_t bypassing; /* CUPTI's id of a call without a wrapper, while it lasts */
	uint32_t passed_by; /* number of the window before which a call went unrecorded */
	uint32_t ready;     /* generation, once chunk and tables are there; else 0 */
} __attribute__((aligned(64)));

/*
 * A driver call leaves little of the recorder in the caches, so that each line of code counts: what
 * almost every call runs through is HOT, lies together and calls nothing (hot.h); the rest is COLD.
 */
#define HOT __attribute__((hot))
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define COLD __attribute__((cold)) NOINLINE
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

extern __thread struct thread_state this_thread __attribute__((visibility("hidden")));

/* This thread's state.  By a pointer: each look through %fs takes more bytes of code. */
static inline struct thread_state *thread_state(void)
{
	struct thread_state *thread = &this_thread;

	__asm__("" : "+r"(thread));
	return thread;
}

/* A place on the stack, for busy. */
#define STACK_PLACE ((uintptr_t)__builtin_frame_address(0))

/* Words of the program's that belong to a record: LIST() of calls.def. */
#define CALL_LISTS 5
#define CALL_LIST_WORDS 4096 /* in one record, all lists together; more are left out */
struct call_list {
	const void *array; /* NULL: zeros */
	uint32_t words;
};

/*
 * What a wrapper knows when it is compiled, beside enum call_flag: the table of calls is in no
 * cache when a launch comes by.
 */
enum frame_flag {
	FRAME_RUNTIME = 1 << 8,  /* a cudart call */
	FRAME_QUERY = 1 << 9,    /* of a stream or event */
	FRAME_BLOCKS = 1 << 10,  /* may wait: an enter record first */
	FRAME_HOST = 1 << 11,    /* none of CUDA: asks CUDA nothing */
	FRAME_WAITS = 1 << 12,   /* made in order to wait */
	FRAME_LAUNCH = 1 << 13,  /* of a kernel, to a stream */
	FRAME_UNTIMED = 1 << 14, /* a query of many, that began without a look at the clock */
};
#define FRAME_FLAGS(kind, traits) \
	((kind_has(kind, K_POLLS) ? FRAME_QUERY : 0) | (call_is_wait(kind) ? FRAME_WAITS : 0) | \
		((kind) == KIND_LAUNCH ? FRAME_LAUNCH : 0) | \
		((traits)&TRAIT_BLOCKS ? FRAME_BLOCKS : 0))

/*
 * How many wrappers are around one of these flags that has this frame address.  Some may never
 * have returned: a signal's handler left them by siglongjmp().  Only driver calls beneath a runtime
 * call are not looked at twice, which are almost all that are within another one.
 */
int thread_forget(struct thread_state *thread, uintptr_t frame);
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
	uint16_t rest;     /* 1: there is what lies behind it */
	uint64_t entered;  /* chunk.written behind its enter record, 0: none */
	uint64_t function; /* launched with these parameters; 0: none */
	void *const *values, *const *extra;
	/* Of few calls, frame_rest(): */
	int launch; /* tables->arguments are this call's */
	unsigned list_count;
	struct call_attributes attributes; /* flags 0: none */
	struct call_list list[CALL_LISTS];
};

/* Before anything is written after it. */
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
 * Around every recorded call.  frame_begin() returns 0 when nothing is to be recorded (disabled,
 * a signal handler within the recorder); then frame_end() must not be called.
 */
int frame_begin(struct call_frame *frame, enum call_id id, unsigned flags, void *frame_address);
void frame_end(struct call_frame *frame, int result, const uint64_t *field, unsigned count);

/*
 * The two around a FRAME_QUERY.  Programs ask in loops: most queries are counted in the record of
 * one before, and go through as little code and memory as there can be.
 */
int poll_begin(struct call_frame *frame, enum call_id id, unsigned flags, void *frame_address);
void poll_end(struct call_frame *frame, int result, const uint64_t *field, unsigned count);

/* Either pair, chosen when a wrapper is compiled. */
static inline int call_begin(struct call_frame *frame, enum call_id id, unsigned flags,
	void *frame_address)
{
	return flags & FRAME_QUERY ? poll_begin(frame, id, flags, frame_address)
				   : frame_begin(frame, id, flags, frame_address);
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
 * Between the two, for a successful launch (function and stream are its first fields) or a kernel
 * node: frame_end() reads its parameters (arguments.h).
 */
static inline void frame_launch(struct call_frame *frame, uint64_t function, void *const *values,
	void *const *extra)
{
	frame->function = function;
	frame->values = values;
	frame->extra = extra;
}

/*
 * Records that the program touched host memory, as guard_recorder.touched() says (guard.h).
 */
int frame_touched(uintptr_t address, int write, const void *context, void *frame_address);

/* Likewise: notes a list, which frame_end() copies from the program. */
void frame_list(struct call_frame *frame, const void *array, uint64_t words);

/* Opens the trace at the first CUDA call of the process; 1 if recording. */
int shim_begin(void);
static inline int shim_start(void)
{
	return (atomic_load_explicit(&shim.stage, memory_order_acquire) == SHIM_ON &&
		       *shim.alive) ||
		shim_begin();
}

/* To be called when stage or outside has changed. */
void shim_admit(void);

/* Writes the last word, in the name of a thread that does nothing else meanwhile. */
void shim_end(struct thread_state *thread);

/* A destructor made a call that succeeded: there will be another last word. */
void shim_resume(void);

/*
 * The first record of this thread in this process, where thread->generation is another one's.  What
 * the thread had learned is forgotten: before anything of it is used.
 */
void thread_begin(struct thread_state *thread);

/* Gives the thread its tables: 0, or -1 where memory is too scarce.  Keeps errno. */
int thread_equip(struct thread_state *thread);

/*
 * Room for a record on this thread's chunk; trace_commit(&thread->chunk) publishes it.  Keeps
 * errno.
 */
void *thread_reserve(struct thread_state *thread, size_t bytes, enum record_type type);

/* Copies what this thread has recorded to the file, while nobody waits for it.  Keeps errno. */
void thread_empty(struct thread_state *thread);

/* Ticks of the recorder's clock. */
uint64_t clock_read_other(void);
static inline uint64_t clock_read(void)
{
#if defined(__x86_64__)
	if (shim.clock == CLOCK_TICKS_TSC)
		return __builtin_ia32_rdtsc();
#endif
	return clock_read_other();
}

/* Chooses the clock; libcuda is a dlopen handle or NULL. */
void clock_init(void *libcuda);

/* Writes a calibration record from samples brackets; thread may be any recording thread. */
void clock_calibrate(struct thread_state *thread, unsigned samples);

/* Forgets all sites: a new process writes them anew. */
void site_reset(void);

/* Makes sure that the trace names the file mapped at address. */
void module_note(struct thread_state *thread, uintptr_t address);
void module_reset(void);
/* A mapping of a file, which the program cannot write to. */
struct module_place {
	uintptr_t start, end;
	uint64_t offset;      /* of start, in the file */
	uint8_t build_id[20]; /* zeros: none */
	char path[1024];
};
/*
 * The one at address, for the caller alone until module_give_place(), with no call in between that
 * asks for another.  NULL: there is none, its path is longer, or that is unknown now; nothing
 * is to be given back then.  Keeps errno.
 */
const struct module_place *module_take_place(uintptr_t address);
void module_give_place(void);
/* FIELD_handle of memory that is registered: pages that a file is mapped to; 0 after the first 64
 * of a process.  Keeps errno. */
uint64_t module_file_page(uintptr_t address);
/* The mapping of a file that address lies in; *end 0: not known.  Keeps errno. */
void module_bounds(uintptr_t address, uintptr_t *start, uintptr_t *end);

/*
 * Writes to the trace, once, where a file has a code image, or that it lies beside the trace, if it
 * was made in memory (NVRTC, Triton, XLA); where nothing can be put there, the image itself.  Gives
 * its hash; 0 for what is not recognized or is too large.  Only after the driver has accepted it:
 * the sizes its headers name are believed.
 */
uint64_t image_note(const void *image);
/* The same of what the file has: a compiler's cache may remove it. */
uint64_t image_note_file(const char *path);
void image_reset(void);

/* 1 if an image of that image_hash() lies beside the trace, now or already.  Changes errno. */
int image_store(uint64_t hash, const void *image, uint64_t bytes);
void image_store_reset(void);

/* Writes to the trace what the hash of the launch at hand stands for, the first time. */
void words_note(struct thread_state *thread, const struct function_layout *layout,
	void *const *values, void *const *extra);
void words_reset(void);

/* A device's primary context has one more user. */
void context_retained(uint64_t context, uint64_t device);

/*
 * Before the real call: a context, or a device's primary one, goes with all that belongs to it;
 * with release only if it has no other user.  Device numbers are small, handles are not.
 */
void context_ending(uint64_t context_or_device, int release);

/* Forgets all contexts: a forked child has none. */
void context_reset(void);

/* Adds CUPTI's id to a context's record, once. */
void context_write_id(struct thread_state *thread, uint16_t id, uint32_t cupti_id);
static inline void context_learn(struct thread_state *thread, uint16_t id, uint32_t cupti_id)
{
	uint16_t known = atomic_load_explicit(&shim.context[id - 1].cupti_id, memory_order_relaxed);

	if (UNLIKELY(known != (uint16_t)cupti_id))
		context_write_id(thread, id, cupti_id);
}

/* Code goes: handles may be reused, each is checked when it comes by next. */
void function_doubt(void);
/* Forgets all: in a forked child. */
void function_reset(void);

/* FNV-1a. */
uint64_t string_hash(const char *text, size_t length);

/* Number of a text, which is written at first sight; 0: too many. */
uint32_t string_intern(struct thread_state *thread, const char *text);
void string_reset(void);

/* Environment and command line, written once. */
void property_write_all(struct thread_state *thread);
void property_write(struct thread_state *thread, const char *name, const char *value,
	size_t value_length);

#endif
