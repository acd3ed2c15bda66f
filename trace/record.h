/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file: written by libcufence.so, read by the cufence program.
 *
 * A file is one struct file_header (TRACE_HEADER_SIZE bytes) followed by chunks of
 * file_header.chunk_size bytes; a chunk of zeros was never used.  A chunk holds consecutive
 * records, each aligned to 8 bytes; chunk_header.committed is the number of bytes of complete
 * records.  The first chunk describes the calls (RECORD_CALL_TYPE), so that a program built from
 * another calls.def can read the file.
 *
 * A chunk whose home is 0 is a window.  The thread that writes it maps it and stores its committed
 * with release order after each record, so that the file of a killed process is readable up to the
 * last complete record.  A full window is copied into a chunk of its own, whose home is the
 * window's number and whose round is the window's round at that time; then the window is reused.  A
 * window's contents are ignored once a copy of its round exists.  A thread's copies precede its
 * window.
 *
 * Everything is little-endian and aligned.  Layouts only grow: a reader accepts any minor version
 * and skips record types it does not know (doc/FORMAT.md).
 *
 * file_header.written and .chunks give the expected size when the file is closed.  A file with less
 * was truncated or damaged.
 *
 * There are two time scales.  Call records carry ticks of the recorder's clock (file_header.clock);
 * device records carry CUPTI's nanoseconds.  RECORD_CALIBRATION pairs both with CLOCK_REALTIME.
 */
#ifndef CUFENCE_RECORD_H
#define CUFENCE_RECORD_H

#include <stdint.h>

#include "trace_control.h"

#define TRACE_MAGIC "CUFENCE\n"
#define TRACE_VERSION_MAJOR 1
#define TRACE_VERSION_MINOR 8
#define TRACE_HEADER_SIZE 4096
#define TRACE_CHUNK_MAGIC 0x4b484346u /* "FCHK" */
#define TRACE_CHUNK_SIZE (64 * 1024)
#define TRACE_ALIGN 8

/* The sizes that a reader accepts: a chunk holds the largest record, and uses little memory. */
#define TRACE_CHUNK_LEAST 4096
#define TRACE_CHUNK_MOST (1024 * 1024)
#define TRACE_MOST_BYTES (UINT64_C(32) << 30)

/* file_header.features: features of the recording. */
enum trace_feature {
	FEATURE_CALLS = 1 << 0,       /* host calls were recorded */
	FEATURE_DEVICE = 1 << 1,      /* CUPTI device operations were recorded */
	FEATURE_GRAPH_NODES = 1 << 2, /* graphs at node level */
	FEATURE_SIMULATED = 1 << 3,   /* the simulated device, virtual time */
};

enum trace_clock {
	CLOCK_TICKS_TSC = 1,       /* ticks of the CPU's time stamp counter */
	CLOCK_TICKS_MONOTONIC = 2, /* CLOCK_MONOTONIC nanoseconds */
	CLOCK_TICKS_VIRTUAL = 3,   /* the simulator's virtual nanoseconds */
};

/* file_header.cupti_state: why there are no device records. */
enum trace_cupti_state {
	CUPTI_STATE_NEVER = 0, /* the process never initialized CUDA */
	CUPTI_STATE_ON = 1,
	CUPTI_STATE_OFF = 2,    /* CUFENCE_CUPTI=off or CUFENCE_MODE=host */
	CUPTI_STATE_ABSENT = 3, /* no libcupti found */
	CUPTI_STATE_BUSY = 4,   /* another subscriber is active (error 39) */
	CUPTI_STATE_FAILED = 5, /* see cupti_error */
};

/* Counters updated by the recorder while it runs; relaxed atomics in the mapped header. */
#define TRACE_COUNTERS(X) \
	X(DROPPED_RECORDS, dropped_records) /* records not written for lack of space or memory */ \
	X(DROPPED_DEVICE, dropped_device)   /* records that CUPTI reports as dropped */ \
	X(INVALID_DEVICE, invalid_device)   /* device records with impossible time stamps */ \
	X(DROPPED_SITES, dropped_sites)     /* the site table was full */ \
	X(DROPPED_ENTRIES, dropped_entries) /* the function, context or string table was full */ \
	X(PASSED_THROUGH, passed_through)   /* driver entry points without a wrapper */ \
	X(BYPASSED_CALLS, bypassed_calls)   /* calls observed only by a CUPTI callback */ \
	X(CUT, cut)                         /* the file was truncated while it was written */ \
	X(PASSED_FUNCTIONS, passed_functions) /* host functions whose runs are not recorded */ \
	X(OTHER_NAMESPACES, other_namespaces) /* drivers in other link namespaces: not recorded */ \
	X(UNLISTED_MODULES, unlisted_modules) /* a filter may forbid their list at the end */ \
	X(QUICK_QUERIES, quick_queries)       /* calls with TRAIT_SELDOM that are not recorded */ \
	X(OLDER_GRAPHS, older_graphs)   /* executables made before CUPTI: graphs are not timed */ \
	X(EMPTY_WINDOWS, empty_windows) /* samples without a call, by who asked */ \
	X(TURN_WINDOWS, turn_windows)   /* samples that began and ended with a turn */ \
	X(DETACHED, detached)           /* times that CUPTI was closed after a window */

enum trace_counter {
#define X(counter, name) COUNT_##counter,
	TRACE_COUNTERS(X)
#undef X
		COUNTER_COUNT,
	COUNTERS_OF_1_0 = COUNT_CUT,
	COUNTERS_OF_1_1 = COUNT_PASSED_FUNCTIONS,
	COUNTERS_OF_1_2 = COUNT_OTHER_NAMESPACES,
	COUNTERS_OF_1_3 = COUNT_UNLISTED_MODULES,
	COUNTERS_OF_1_4 = COUNT_OLDER_GRAPHS
};

#define TRACE_COUNTER_ROOM 16 /* counters can be added without moving the members after them */

struct file_header {
	char magic[8];
	uint16_t version_major, version_minor;
	uint32_t header_size;
	uint32_t chunk_size;
	uint32_t clock;    /* enum trace_clock */
	uint64_t features; /* enum trace_feature */
	uint32_t pid, parent_pid;
	uint64_t start_ns;       /* CLOCK_REALTIME at creation, ns */
	uint32_t closed;         /* 1 after a regular exit of the process */
	uint32_t cupti_state;    /* enum trace_cupti_state */
	uint32_t cupti_error;    /* CUptiResult, when failed */
	uint32_t cupti_version;  /* cuptiGetVersion() */
	uint32_t driver_version; /* cuDriverGetVersion() */
	uint32_t chunk_count;    /* chunks allocated so far */
	uint64_t counter[TRACE_COUNTER_ROOM];
	/* Since 1.1; zeros in a file of version 1.0, whose expected size is unknown. */
	uint64_t written;     /* bytes of records when the file was closed; more may follow */
	uint64_t copied;      /* the part of them in copies; updated after each copy */
	uint64_t identity;    /* CLOCK_REALTIME ns at creation, with virtual clocks too */
	uint32_t chunks;      /* chunks begun; updated after each one's header is written */
	uint32_t last_window; /* 1 + number of the window opened last, 0: none */
	struct trace_control control; /* since 1.6, like the next one */
	struct trace_ring ring;
};

struct chunk_header {
	uint32_t magic;
	uint32_t thread;    /* kernel thread id of the first writer; 0: of the file itself */
	uint64_t committed; /* bytes of complete records after this header */
	uint32_t home;      /* copy: 1 + number of the window; 0: a window */
	uint32_t before;    /* window: 1 + number of the one opened before it, 0: none */
			    /* copy: the generation (struct trace_ring) that replaced it, 0: none */
	uint64_t round;     /* number of times the window was emptied before */
};

enum record_type {
	RECORD_CALL_TYPE = 1,
	RECORD_CALL,
	RECORD_ENTER,
	RECORD_DEVICE,
	RECORD_SITE,
	RECORD_MODULE,
	RECORD_FUNCTION,
	RECORD_STRING,
	RECORD_CONTEXT,
	RECORD_DEVICE_INFO,
	RECORD_CALIBRATION,
	RECORD_PROPERTY,
	RECORD_THREAD,
	RECORD_IMAGE,
	RECORD_SYMBOL,
	RECORD_CODE,
	RECORD_WINDOW,
	RECORD_IMAGE_FILE,
	RECORD_WORDS,
	RECORD_HOST_RUN,
	RECORD_USAGE,
	RECORD_TYPE_COUNT
};

/* Common head of all records. */
struct record {
	uint16_t words; /* size of the whole record in 8-byte words, padding included */
	uint8_t type;   /* enum record_type */
	uint8_t flags;  /* by type */
};
#define RECORD_MAX_BYTES (0xffffu * TRACE_ALIGN)

/* record.flags of RECORD_CALL and RECORD_ENTER */
enum call_flag {
	CALL_PER_THREAD = 1 << 0,    /* the _ptsz or _ptds entry point: stream 0 is per-thread */
	CALL_NESTED = 1 << 1,        /* made from within another recorded call of this thread */
	CALL_LONG = 1 << 2,          /* duration is in units of CALL_LONG_UNIT ticks */
	CALL_FROM_CALLBACK = 1 << 3, /* it bypassed the wrappers; times are the callback's */
	CALL_POLLS = 1 << 4,         /* represents several calls: the tail is struct call_polls */
	CALL_ATTRIBUTES = 1 << 5,    /* struct call_attributes ends the tail */
	CALL_BUFFER = 1 << 6,        /* the tail begins with the launch's whole parameter buffer */
	CALL_EXTRA = 1 << 7,         /* a launch's words come from one buffer of unknown layout */
};
#define CALL_LONG_UNIT 4096

/*
 * One completed call. field[] holds the row's fields of calls.def in order (enum field_kind from
 * the file's RECORD_CALL_TYPE).  A tail follows.  Launches and kernel nodes start it with
 * pointer_count struct launch_pointer, padded to 8 bytes, and 8-byte scalar words; with
 * CALL_BUFFER, with pointer_count words of 8 bytes, the parameter buffer from its start.  Next come
 * the row's lists (LIST() of calls.def) with as many words as the fields count and more say; if a
 * row has several lists, each has count words and all further ones together have more words.  Last
 * come the structs that flags name.
 */
struct call_record {
	struct record head;
	uint16_t call;        /* number of the RECORD_CALL_TYPE */
	int16_t result;       /* CUresult or cudaError_t */
	uint32_t site;        /* RECORD_SITE id, 0: unknown */
	uint32_t correlation; /* CUPTI correlation id, 0: none */
	uint64_t enter;       /* ticks */
	uint32_t duration;    /* ticks, or CALL_LONG_UNIT ticks with CALL_LONG */
	uint16_t context;     /* RECORD_CONTEXT id current at entry, 0: none */
	uint16_t pointer_count;
	uint64_t field[];
};

/*
 * Tail of a query.  Consecutive calls of a polling loop form one record, that of the first call:
 * same stream or event, same result, same site, and no other call of the thread in between.  Both
 * words are updated in the committed record while the loop runs.
 */
struct call_polls {
	uint64_t count; /* calls, including the first */
	uint64_t last;  /* ticks at entry of the last call that was timed */
};

/* Launch attributes that affect ordering; cuda.h, CUlaunchAttributeID. */
enum launch_attribute {
	LAUNCH_COOPERATIVE = 1 << 0,
	LAUNCH_PROGRAMMATIC = 1 << 1, /* may start before the preceding kernel of its stream ends */
	LAUNCH_EVENT = 1 << 2,        /* records event when its blocks trigger it */
	LAUNCH_COMPLETION_EVENT = 1 << 3, /* records completion_event when all blocks have begun */
	LAUNCH_UPDATABLE = 1 << 4,        /* a node that device code may update */
};
struct call_attributes {
	uint64_t flags; /* enum launch_attribute */
	uint64_t event, completion_event;
};

/*
 * A call that began.  Before a call that may block it is committed, and taken back at its end.  Of
 * any other driver call it lies in a window right after the last committed record, where the record
 * of the call will replace it, so that a hang is visible at no cost.
 */
struct enter_record {
	struct record head;
	uint16_t call;
	uint16_t context;
	uint32_t site;
	uint32_t reserved;
	uint64_t enter;     /* ticks */
	uint64_t operand[]; /* since 1.7, one: the last stream or event among its fields, else 0 */
};
#define ENTER_BYTES (sizeof(struct enter_record) + sizeof(uint64_t))

/* A parameter word of a launch that points into a known allocation; 12 bytes, packed. */
struct launch_pointer {
	uint32_t offset;     /* byte offset in the parameter buffer */
	uint32_t pointer[2]; /* low word, high word */
};

/* device_record.kind: the type of a device operation. */
enum device_kind {
	DEVICE_KERNEL = 1,
	DEVICE_MEMCPY,
	DEVICE_MEMSET,
	DEVICE_PEER,     /* memcpy between devices */
	DEVICE_GRAPH,    /* a whole graph launch */
	DEVICE_OVERHEAD, /* driver overhead, not an operation */
};

/* device_record.src, .dst and the analyzer's memory kinds; numbers are CUPTI's. */
enum memory_kind {
	MEMORY_UNKNOWN = 0,
	MEMORY_PAGEABLE = 1,
	MEMORY_PINNED = 2,
	MEMORY_DEVICE = 3,
	MEMORY_ARRAY = 4,
	MEMORY_MANAGED = 5,
	MEMORY_DEVICE_STATIC = 6,
	MEMORY_MANAGED_STATIC = 7,
};

/* device_record.detail of DEVICE_OVERHEAD; numbers are CUPTI's, different for each kind << 16. */
enum overhead_kind {
	OVERHEAD_LAZY_LOADING = 5,
	OVERHEAD_QUEUE_FULL = 6,
};

/* A device operation or an OVERHEAD interval. head.flags: DEVICE_INVALID. */
struct device_record {
	struct record head;
	uint8_t kind;        /* enum device_kind */
	uint8_t detail;      /* memcpy: copyKind; overhead: enum overhead_kind */
	uint8_t src, dst;    /* memcpy: enum memory_kind; peer: device numbers */
	uint64_t start, end; /* CUPTI ns; end 0: still running when the trace was closed */
	uint32_t correlation;
	uint16_t context; /* CUPTI context id: context_record.cupti_id */
	uint16_t device;
	uint32_t stream; /* CUPTI stream id, unique within the context */
	uint32_t name;   /* kernel: string_record.id; graph: graph id */
	uint64_t value;  /* memcpy, memset: bytes; kernel: graph node id, 0: not in a graph */
};
enum { DEVICE_INVALID = 1 << 0 }; /* impossible times: the record is kept, its times are not used */

/*
 * id and up to SITE_FRAMES return addresses, innermost first, without those of the recorder, then
 * up to SITE_SCRIPT_FRAMES interpreter frames, innermost first: SCRIPT_FRAME(code, offset), where
 * code is the id of a RECORD_CODE. Up to SITE_OWN_FRAMES of them are of the program's own files.
 * The record's size gives the number of frames.
 */
#define SITE_FRAMES 32
#define SITE_SCRIPT_FRAMES 16
#define SITE_OWN_FRAMES 8
#define SCRIPT_FRAME(code, offset) \
	(1ull << 63 | (uint64_t)(uint32_t)(code) << 32 | (uint32_t)(offset))
#define IS_SCRIPT_FRAME(address) ((address) >> 63)
#define SCRIPT_CODE(address) ((uint32_t)((address) >> 32) & 0x7fffffffu)
#define SCRIPT_OFFSET(address) ((uint32_t)(address)) /* bytes into the byte code */
struct site_record {
	struct record head;
	uint32_t id;
	uint64_t address[];
};

/* An executable mapping, recorded when a site first points into it. */
struct module_record {
	struct record head;
	uint32_t path_length;
	uint64_t start, end;  /* addresses */
	uint64_t file_offset; /* of start */
	uint8_t build_id[20]; /* zeros: none */
	uint32_t reserved;
	char path[]; /* not NUL-terminated */
};

/* A CUfunction or CUkernel, at its first launch, and again once its local memory is known. */
struct function_record {
	struct record head;
	uint32_t name_length;
	uint64_t handle;
	uint32_t parameter_count; /* FUNCTION_NO_PARAMETERS: unknown to the driver */
	uint32_t local;           /* 1 + bytes of local memory per thread; 0: unknown */
	/* parameter_count times struct function_parameter, then the mangled name */
	char data[];
};
#define FUNCTION_NO_PARAMETERS 0xffffffffu
struct function_parameter {
	uint16_t offset, size;
};

/* A kernel name as CUPTI reports it (mangled); ids from 1. */
struct string_record {
	struct record head;
	uint32_t id;
	uint32_t length;
	uint32_t reserved;
	char text[];
};

/* A CUcontext at the first call made in it, and again once its CUPTI id is known. */
/* The largest systems join a few hundred GPUs: a record with a higher number is damaged. */
#define TRACE_DEVICES 1024

struct context_record {
	struct record head;
	uint16_t id;       /* recorder's own id, from 1 */
	uint16_t cupti_id; /* 0: unknown */
	uint64_t handle;   /* CUcontext */
	int32_t device;    /* ordinal, -1: unknown */
	uint32_t flags;    /* cuCtxGetFlags: scheduling policy */
};

struct device_info_record {
	struct record head;
	uint32_t device; /* ordinal */
	uint32_t sm_count;
	uint32_t threads_per_sm;
	uint32_t blocks_per_sm;
	uint32_t compute_major, compute_minor;
	uint32_t async_engines;
	uint64_t memory_bytes;
	uint32_t name_length;
	uint32_t reserved;
	char name[];
};

/* Reads of both clocks within one interval of gap_ticks. */
struct calibration_record {
	struct record head;
	uint32_t reserved;
	uint64_t ticks; /* middle of the interval */
	uint64_t realtime_ns;
	uint64_t cupti_ns; /* 0: CUPTI was off */
	uint64_t gap_ticks;
};

/* Environment variables that change behaviour, command line, library versions. */
struct property_record {
	struct record head;
	uint16_t name_length, value_length;
	char data[]; /* name, then value */
};

/* Following records of the chunk belong to this thread: chunks of ended threads are reused. */
struct thread_record {
	struct record head;
	uint32_t thread; /* kernel thread id */
	uint32_t name_length;
	uint32_t birth; /* FIELD_birth of the call that created it, 0: not recorded */
	char name[];
};

/*
 * A code image loaded from memory, in pieces of at most RECORD_MAX_BYTES. A single piece without
 * bytes: the image is stored beside the trace (image_hash.h).
 */
struct image_record {
	struct record head;
	uint32_t length; /* of this piece */
	uint64_t hash;   /* of the whole image */
	uint64_t offset, total;
	uint8_t data[];
};

/*
 * A code image loaded from a mapped file, which still contains it.  Relocatable code has one record
 * per fat binary, all with the same hash.
 */
struct image_file_record {
	struct record head;
	uint32_t path_length;
	uint64_t hash;          /* names the image in calls */
	uint64_t offset, bytes; /* in the file */
	uint64_t start; /* image_hash() of its first IMAGE_START_BYTES, or of all if it has fewer */
	uint8_t build_id[20]; /* zeros: none */
	uint32_t reserved;
	char path[]; /* not NUL-terminated */
};

/*
 * A resolved address of a site, written while its file was available, for traces that are moved to
 * another machine ("cufence dump --symbols").  Inlined frames share an address; depth 0 is the
 * innermost.
 */
struct symbol_record {
	struct record head;
	uint32_t line;    /* 0: unknown */
	uint64_t address; /* as in site_record */
	uint32_t depth;
	uint16_t function_length, file_length;
	char data[]; /* function, then file */
};

/*
 * A code object of a scripting language, at its first appearance in a site. data[] is the qualified
 * name, the file name and the line table in the interpreter's format (CPython 3.9: co_lnotab; 3.10:
 * co_linetable of PEP 626; from 3.11: the location table of PEP 657).
 */
struct code_record {
	struct record head;
	uint32_t id;      /* from 1 */
	uint16_t version; /* of CPython: major << 8 | minor */
	uint16_t name_length, file_length, table_length;
	uint32_t first_line;
	uint32_t reserved;
	char data[];
};

/*
 * A recording window opened or closed here (--delay, --duration, the profiler calls, an NVTX range,
 * --turns, --max-size, a request).  Outside a window only calls on handles, memory and events that
 * later calls depend on are recorded.  Without any such record everything is recorded.
 */
enum window_cause {
	WINDOW_START = 0,
	WINDOW_DELAY = 1,
	WINDOW_DURATION = 2,
	WINDOW_PROFILER = 3,
	WINDOW_RANGE = 4,
	WINDOW_SIZE = 5,
	WINDOW_CONTROL = 6,
	WINDOW_TURNS = 7,
	WINDOW_SAMPLE = 8, /* one of several windows that stand for the rest of the run */
	WINDOW_RING = 9,   /* what was before it is no longer kept */
};
struct window_record {
	struct record head;
	uint16_t open;  /* 1: recording from here on, 0: not recording */
	uint16_t cause; /* enum window_cause */
	uint64_t ticks;
};

/* A row of calls.def, so that the file describes itself. */
struct call_type_record {
	struct record head;
	uint16_t call;   /* the number used in other records */
	uint8_t kind;    /* enum call_kind */
	uint8_t traits;  /* enum call_trait */
	uint8_t runtime; /* 1: a cudart call, 0: a driver call */
	uint8_t field_count;
	uint16_t name_length;
	/* field_count times uint8_t enum field_kind, then the name */
	char data[];
};

_Static_assert(sizeof(struct file_header) <= TRACE_HEADER_SIZE, "file header");
_Static_assert(COUNTER_COUNT <= TRACE_COUNTER_ROOM, "counters");
_Static_assert(sizeof(struct chunk_header) == 32, "chunk header");
_Static_assert(sizeof(struct record) == 4, "record");
_Static_assert(sizeof(struct call_record) == 32, "call record");
_Static_assert(sizeof(struct enter_record) == 24, "enter record");
/*
 * The parameter words that the hash of a launch represents: those after its first eight, in order.
 */
struct words_record {
	struct record head;
	uint32_t length; /* bytes */
	uint64_t hash;
	char data[];
};

/*
 * A run of a host function, by the thread whose chunk this is: of a call of cuLaunchHostFunc or
 * cuStreamAddCallback, which is identified by its thread and entry, or of a graph's host node,
 * which is identified by function and data.  A run whose exit is 0 did not return; a later record
 * with the same entry replaces it.  Since 1.2.
 */
struct host_run_record {
	struct record head;
	uint32_t caller;         /* kernel thread id of the call; 0: a host node */
	uint64_t called;         /* ticks at entry of the call; 0: a host node */
	uint64_t enter, exit;    /* ticks */
	uint64_t function, data; /* of the program */
};

_Static_assert(sizeof(struct host_run_record) == 48, "host run record");

/*
 * The thread's use of its processor, since 1.2: read once at the end of each time of more than
 * 20 us between two of the thread's calls or within one, but for queries.  Times are since the
 * thread began, counts are modulo 2^32.  Between two readings, time that the clock has and the
 * processor has not, the thread was off its processor: blocked if it gave the processor up, or
 * preempted.
 *
 * USAGE_CLOCK: not a reading, but the thread read a clock at ticks, at most 20 us after a wait had
 * returned and before any other recorded call; site is the reader's.
 *
 * USAGE_ASLEEP, since 1.8: not a reading, but the process's first thread was asleep, at ticks, as
 * the thread whose chunk this is began to run a host function; site is where its script was.
 */
enum usage_flag {
	USAGE_CLOCK = 1 << 0,
	/* No switches since the reading before: the thread had its processor; cpu_ns is 0. */
	USAGE_STAYED = 1 << 1,
	USAGE_ASLEEP = 1 << 2,
};
struct usage_record {
	struct record head;
	uint32_t site;  /* USAGE_CLOCK, USAGE_ASLEEP; else 0 */
	uint64_t ticks; /* when it was read */
	uint64_t cpu_ns;
	uint32_t voluntary, involuntary; /* context switches */
};

_Static_assert(sizeof(struct usage_record) == 32, "usage record");
_Static_assert(sizeof(struct launch_pointer) == 12, "launch pointer");
_Static_assert(sizeof(struct device_record) == 48, "device record");

#endif
