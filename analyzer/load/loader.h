/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of load_traces(), shared by load*.c.  A trace is mapped and read twice:
 *
 * scan   tables (sites, modules, kernels ...) are written, device operations are stored by
 *        correlation id, and the positions of each thread's calls are noted
 * calls  in order of entry, each call gets its parent (calls), the objects of its handles
 *        (resolve) and its operations (device), and is written
 *
 * Memory use is proportional to the program's live objects (streams, events, memory) plus four
 * bytes per call and operation, independent of the trace's size.  As many traces are loaded at the
 * same time as there are processors: each has a loader, whose ids are joined later (load_parts.c).
 */
#ifndef CUFENCE_LOADER_H
#define CUFENCE_LOADER_H

#include "bulk.h"
#include "calls.h"
#include "db.h"
#include "launch_words.h"
#include "lives.h"
#include "load_clock.h"
#include "map.h"
#include "progress.h"
#include "reader.h"
#include "rows.h"
#include "since.h"
#include "sparse_words.h"
#include "stream_kind.h"

struct file_call_type {
	int64_t id; /* row; 0: not defined in this file */
	const struct call_type_record *record;
	uint64_t fields; /* bit per field kind */
};

/* The fields of a call, by enum field_kind. */
struct call_fields {
	uint64_t value[FIELD_KIND_COUNT];
	uint64_t present; /* bit per field kind */
};
_Static_assert(FIELD_KIND_COUNT <= 64, "a bit per field kind");

/*
 * One call while it is processed.  Calls of a process are numbered from 1 in order of entry; rows
 * are database ids; 0: none.
 */
struct loaded_call {
	const struct record *record; /* struct call_record, or enter_record if it never returned */
	const struct file_call_type *type;
	struct call_fields fields; /* empty if the call never returned */
	uint64_t enter, exit;      /* ticks; exit UINT64_MAX: never returned */
	uint32_t number, parent;
	uint32_t thread;                /* row */
	uint32_t context;               /* row */
	uint32_t kernel;                /* row */
	uint32_t stream;                /* life */
	int64_t event;                  /* row */
	unsigned kind;                  /* enum call_kind */
	int returned, failed;           /* failed: or never returned */
	uint8_t dst_memory, src_memory; /* enum memory_kind */
};

/* A call of a lane; parent: index + 1 in the lane's calls. */
struct lane_call {
	const struct record *record;
	uint64_t enter, exit;
	uint32_t number, parent;
};

/* Calls of one thread: load_lanes.c. */
struct lane {
	uint32_t thread; /* row */
	struct segment {
		const char *start, *end;
	} * segment; /* of the mapped file */
	size_t segment_count, segment_next;
	const char *position, *end; /* in the segment before segment_next */
	size_t chunk;               /* of the last segment, offset */
	uint64_t damaged; /* reader.damaged at that time: damaged records lie between segments */
	uint64_t last;    /* ticks, return of the last stored call */
	struct lane_call *call; /* in order of entry; next is the next one */
	size_t count, next, room;
};

/* Indexed like the lives of streams. */
struct loaded_stream {
	uint64_t handle;
	uint32_t context, thread; /* rows, 0: none */
	enum stream_kind kind;
	int32_t priority;
	int64_t cupti_id; /* -1: no operation recorded */
	uint64_t name;    /* string, 0: none */
};

/* Meaning of life.kind for an allocation. */
struct allocation_kind {
	unsigned made_by; /* enum call_kind */
	const char *memory;
	enum memory_kind kind;
};

/* An NVTX range that is still open; load_host.c. */
struct open_range;

/* A reading of a thread's usage, or of a clock by it; load_host.c. */
struct loaded_usage {
	const struct usage_record *record;
	uint32_t thread; /* row */
};

/* A kernel whose handle no call has used yet; load_scan.c. */
struct unplaced_function;

struct loaded_context {
	struct context_record record; /* the latest record of it */
	uint32_t row;
	uint32_t users; /* of a primary context: retains minus releases */
};

struct loaded_thread {
	uint32_t tid;
	const struct thread_record *name; /* NULL: unknown */
	uint32_t made_by, joined_by;      /* numbers of calls */
	uint32_t *call;                   /* numbers of its calls */
	size_t call_count;
	int64_t outermost, placed; /* top-level calls; those with a site */
	int64_t inside;            /* ns in top-level calls */
	int64_t stuck;             /* entry of the call that never returned, or DB_NULL */
};

/* A run of a host function; load_host.c. */
struct loaded_host_run {
	const struct host_run_record *record;
	uint32_t thread; /* row */
	uint32_t call;   /* number of the call that submitted it, 0: unknown */
};

/* Limit of the recorder (preload/arguments.h); further pointers are among the words by value. */
#define MAX_POINTED 128

/* State of one trace; empty again for the next one. */
struct loaded_process {
	struct trace_reader reader;
	struct clock clock;
	struct file_call_type *type; /* by call number */
	struct lane *lane;
	size_t lane_count, last_lane;
	uint32_t *heap; /* lanes by their next call */
	size_t heap_count;
	uint32_t call_count;              /* calls read so far */
	uint64_t submitted, refused_work; /* outermost calls that submit work; that failed */
	uint64_t operations;              /* of the device */
	enum { INIT_UNKNOWN, INIT_FAILED, INIT_DONE } init; /* outcome of calls of cuInit */
	struct sparse_words device; /* operations by correlation: load_device.c */
	uint64_t *more_device;
	size_t more_device_count;
	const struct device_record **taken; /* those of the current call */
	size_t taken_count;
	struct launch_word stray[LAUNCH_WORDS_MAX]; /* its words that only look like addresses */
	size_t stray_count;
	uint64_t *named; /* addresses in allocations that the call names */
	size_t named_count, named_room;
	int unnamed; /* it names unknown addresses in a batch, too */
	uint32_t pointed
		[MAX_POINTED]; /* its words that point into an allocation: launch_pointed() */
	size_t pointed_count;
	const struct calibration_record **calibration;
	size_t calibration_count;
	const struct window_record **window;
	size_t window_count;
	struct trace_since since;
	unsigned since_cause; /* enum window_cause */
	const struct property_record **rank_properties;
	size_t rank_property_count;
	struct loaded_usage *usage;
	size_t usage_count;
	struct loaded_context *context;
	size_t context_count;
	struct loaded_thread *thread; /* row - threads before this process - 1 */
	size_t thread_count;
	struct map context_numbers, context_handles, context_cupti_ids; /* -> index + 1 */
	struct map primaries;               /* device -> context, index + 1 */
	struct map threads;                 /* tid -> row */
	struct map thread_lanes;            /* row -> lane, index + 1 */
	struct map births;                  /* number of the pthread_create -> thread, index + 1 */
	struct map sites;                   /* number -> row */
	struct lives functions;             /* value: kernel row */
	struct map latest_functions;        /* during the scan: handle -> kernel row */
	struct unplaced_function *unplaced; /* load_scan.c */
	size_t unplaced_count;
	struct map layouts;         /* kernel row -> address of the function_record */
	struct map words;           /* hash -> address of the words_record */
	struct map kernels;         /* hash of the mangled name -> kernel row */
	struct map shapes;          /* hash -> row */
	struct map strings;         /* id -> address of the string_record */
	struct map default_streams; /* context and thread -> stream */
	struct map cupti_streams;   /* CUPTI context and stream -> stream */
	struct lives streams, events, allocations;
	struct loaded_stream *stream; /* beside streams.life */
	struct ranges live_memory;    /* of allocations */
	struct map variables;         /* address -> module of the variable */
	struct map mapped;            /* physical memory -> life of its first mapping */
	struct map mapped_at;         /* address of that mapping -> physical memory */
	struct map known_by; /* address of a mapping -> row of the allocation that represents it */
	struct map known_at; /* address of a mapping -> its offset in that allocation */
	struct map known_first;   /* row of such an allocation -> its address */
	struct map opened;        /* address of another process's memory -> open count */
	struct ranges reserved;   /* addresses, each of one cuMemAddressReserve */
	struct twins *twins;      /* load_twins.c; NULL: none yet */
	struct map levels;        /* array that is part of another one -> that array */
	struct map level_numbers; /* array that is part of another one -> which part */
	struct graphs *graphs;    /* load_graph.c; NULL: none yet */
	struct images *images;    /* load_images.c; NULL: none yet */
	struct nccl *nccl;        /* load_collectives.c; NULL: no communicator yet */
	struct open_range *open_range;
	size_t open_range_count;
	struct loaded_host_run *host_run;
	size_t host_run_count;
	struct map open_host_runs; /* hash -> run that has not returned, index + 1 */
	struct map host_calls;     /* thread and entry of the call -> run, index + 1 */
	uint64_t first_tick;
	int64_t start, end; /* ns: start of the process, and its latest time */
	uint64_t refused;   /* records that load_accept.c refused */
	/* load_accept.c */
	struct sparse_words
		overlaps;      /* correlation -> how its operations may overlap with others */
	struct map impossible; /* place of an operation -> its latest possible end, CLOCK_NONE */
	int shaken;            /* streams were held back at random, see shake_plan.h */
	uint64_t late_ends;    /* operations whose end was impossible */
	uint64_t lost_times;   /* ... and whose start, too */
};

/* Sorted with DB_NULL, the lowest number, first. */
struct operation_end {
	int64_t end, id;
};

struct loader {
	struct db *db;
	sqlite3_stmt *update_kernel, *update_texture;
	/* Tables and indexes too large for INSERT. */
	struct bulk *calls, *operations, *operands, *launches;
	struct bulk *call_thread, *operation_call, *operand_call, *operation_end;
	struct relay *relay; /* writes these, and the columns of the run */
	struct rows *objects;
	struct loader *whole;      /* itself, or what it is a part of until loader_join() */
	struct progress progress;  /* of all traces: bytes, each of which is read twice */
	size_t read, shown;        /* bytes so far, and of these in the progress */
	int64_t origin;            /* CLOCK_REALTIME ns of time 0 */
	int64_t lasted;            /* ns, sum of all durations; up to CLOCK_MOST_SUM */
	struct operation_end *end; /* of each operation */
	/* Number of rows written so far: ids are known before rows are written. */
	int64_t process, call, operation, thread, context, stream, event, allocation, kernel, site;
	int64_t graph, node, exec, shape, communicator;
	char damage[sizeof(((struct trace_reader *)NULL)->error)]; /* of the trace; empty: none */
	uint64_t words_bytes;                                      /* of shapes */
	struct map call_types; /* hash of name, kind and runtime -> row */
	struct map images;     /* hash -> 1: its pieces were written */
	int keeps_images;      /* all of the trace, also those that another process has */
	const char *path;
	int last_window; /* load only what was recorded since the last request; 2: or sample */
	struct loaded_process p;
};

/* Updates the progress by bytes read. */
void loader_look_up(struct loader *loader);
static inline void loader_step(struct loader *loader, size_t bytes)
{
	enum { STEP = 16 << 20 }; /* bytes of a trace kept in memory */

	loader->read += bytes;
	if (loader->read >= loader->shown + STEP)
		loader_look_up(loader);
}

/*
 * Selects the traces of processes that were not given before; sets their number, origin and
 * progress.  Returns 0, or -1 after a message.
 */
int loader_choose_files(struct loader *loader, char *const *path, size_t *count, char **chosen);
/* Loads a trace after those before it.  Returns 0, or -1 after a message. */
int loader_load_process(struct loader *loader, const char *path);
/* Returns whether the traced process is still running: it has the trace locked, or mapped. */
int loader_is_running(const struct loader *loader);

/*
 * Moves what parts have loaded to the end of the whole (load_parts.c).  Returns 0, or -1 after a
 * message.
 */
int loader_join(struct loader *whole, struct loader *part, size_t count);

/* Each returns 0, or -1 after a message. */
int loader_scan(struct loader *loader);
int loader_start_calls(struct loader *loader);
int loader_resolve(struct loader *loader, struct loaded_call *call);
/*
 * Finds the context of a call: the current one, or the one it names.  For a call that destroys
 * contexts: the destroyed one, or none; its streams, events and memory end.
 */
void loader_resolve_context(struct loader *loader, struct loaded_call *call);
void loader_end_context(struct loader *loader, const struct loaded_call *call);

/*
 * Memory used through other addresses (load_twins.c): a multicast object is bound, a handle is
 * imported or exported, physical memory is mapped, host memory is registered.  Failed calls have no
 * effect.  Each returns 0, or -1 after a message.
 */
int loader_bind_multicast(struct loader *loader, const struct loaded_call *call);
int loader_note_handle(struct loader *loader, const struct loaded_call *call);
/* Called before struct loaded_process.mapped drops a handle. */
void loader_settle_handle(struct loader *loader, uint64_t handle);
/* The handle now means new memory, or a new multicast object. */
void loader_renew_handle(struct loader *loader, uint64_t handle);
int loader_join_mapping(struct loader *loader, const struct loaded_call *call,
	const struct life *life);
int loader_join_pages(struct loader *loader, const struct loaded_call *call,
	const struct life *life);
/* The number of mappings that had to be left out. */
uint64_t loader_twins_left_out(const struct loaded_process *p);
void loader_release_twins(struct loaded_process *p);

/*
 * Arrays are allocations whose bytes have addresses of their own (schema.def, table array).  Failed
 * calls have no effect.  Each returns 0, or -1 after a message.
 */
#define ARRAY_PITCH ((uint64_t)1 << 21)
#define ARRAY_SLICE ((uint64_t)1 << 37)
#define ARRAY_LEVEL ((uint64_t)1 << 54)
int loader_make_array(struct loader *loader, const struct loaded_call *call, uint8_t kind);
void loader_end_array(struct loader *loader, const struct loaded_call *call);
/*
 * Returns the row of the allocation that a call means by an array or a part of one, and its begin;
 * 0: unknown.
 */
int64_t loader_find_array(struct loader *loader, uint64_t array, uint64_t enter, uint64_t *begin);
/* Mipmap levels, textures and surfaces of that call. */
int loader_take_textures(struct loader *loader, const struct loaded_call *call);

/* The call unloads a module, which frees its variables. */
void loader_end_variables(struct loaded_process *p, const struct loaded_call *call);
int loader_write_call(struct loader *loader, const struct loaded_call *call);
int loader_write_device(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call);
/* lives.retire of events and allocations; arg: the loader. */
int loader_write_event(void *arg, const struct life *life);
int loader_write_allocation(void *arg, const struct life *life);
/*
 * Copies the stream's last name, cut after whole characters, with spaces for control characters and
 * backticks.  Returns its length in bytes, 0: none.
 */
#define STREAM_NAME_BYTES 256
size_t loader_stream_name(const struct loader *loader, const struct loaded_stream *stream,
	char name[STREAM_NAME_BYTES]);
/* NVTX ranges, names of streams and thread creation of that call. */
int loader_take_host(struct loader *loader, const struct loaded_call *call);
/*
 * Communicators and collectives of NCCL (load_collectives.c): noted during the scan, for a thread's
 * row; buffers of a launch within one, before its words; what a call says; rows at the end.
 */
void loader_note_collective(struct loader *loader, uint32_t thread,
	const struct call_record *record);
int loader_write_buffers(struct loader *loader, const struct loaded_call *call);
void loader_take_collective(struct loader *loader, const struct loaded_call *call);
int loader_write_collectives(struct loader *loader);
void loader_release_collectives(struct loaded_process *p);
/* Writes rows of call_object for other objects that a call names. */
int loader_write_objects(struct loader *loader, const struct loaded_call *call);
/* Runs one rare SQL statement with two to four numbers. */
int loader_run(struct loader *loader, const char *sql, int64_t first, int64_t second, int64_t third,
	int64_t fourth);
/* The table whose ids objects of that role are, -1: none. */
int loader_object_table(const char *role);
/* role: a constant. */
int loader_write_object(struct loader *loader, const struct loaded_call *call, const char *role,
	int64_t object);
/* Returns 1 and the attributes of a launch, 0 if it has none that matter. */
int loader_attributes(const struct call_record *call, struct call_attributes *attributes);
/* Graphs, nodes and captures of that call. */
int loader_take_graphs(struct loader *loader, const struct loaded_call *call);
void loader_release_graphs(struct loaded_process *p);
/* Returns 1 if the call's stream is captured, so that the call becomes a node. */
int loader_is_captured(const struct loader *loader, const struct loaded_call *call);
/* During the scan: stores an image; its pieces are written at the end. */
void loader_note_image(struct loader *loader, const struct image_record *image);

/* load_rank.c: keeps a property that says which rank the process is; writes its row. */
void loader_note_rank(struct loader *loader, const struct property_record *property);
int loader_insert_rank(struct loader *loader);
int loader_insert_image_file(struct loader *loader, const struct image_file_record *file);
/* Assigns kernels to images: for a module load, a function query or a launch. */
int loader_take_images(struct loader *loader, const struct loaded_call *call);
int loader_write_images(struct loader *loader);
void loader_release_images(struct loaded_process *p);
/* Returns it in hexadecimal; NULL: none. */
const char *loader_build_id(const uint8_t id[20], char text[41]);
/* At the end: writes open ranges, live objects and operations without a call. */
int loader_write_rest(struct loader *loader);
int loader_write_host(struct loader *loader);
/*
 * Runs of host functions: found during the scan, on a thread's row; assigned to the call that
 * submitted them; written at the end.
 */
void loader_note_host_run(struct loader *loader, uint32_t thread,
	const struct host_run_record *record);
void loader_take_host_run(struct loader *loader, const struct loaded_call *call);
int loader_write_host_runs(struct loader *loader);
/* Returns ns since the run's start; the process lasts at least up to there. */
int64_t loader_host_time(struct loader *loader, uint64_t ticks);
/* During the scan: stores a reading of that thread (row). */
void loader_note_usage(struct loader *loader, uint32_t thread, const struct usage_record *record);
/*
 * For last_window and for a ring: finds since when the process is loaded.  Leaves the reader at the
 * start.
 */
void loader_find_since(struct loader *loader);

/* Writes the recording windows of the process, whose end must be known, and losses between them. */
int loader_write_recording(struct loader *loader);
int loader_insert_loss(struct loader *loader, const char *reason, uint64_t count);

/* Returns 1 and the next call in order of entry, 0 at the end, -1 after a message. */
int loader_next_call(struct loader *loader, struct loaded_call *call);

/* During the scan: adds the record of a call to that thread's lane. */
int lane_file(struct loader *loader, uint32_t thread, const struct record *record);
/* Reads the lane's next calls, none at its end. */
int lane_fill(struct loader *loader, struct lane *lane);
/* Sorts from order of return to order of entry, and sets parents. */
int lane_order(struct lane *lane);
void lane_release(struct lane *lane);

/* During the scan: stores an operation by its correlation id. */
void loader_file_device(struct loader *loader, const struct device_record *device);
/* After the scan. */
void loader_sort_devices(struct loader *loader);
/* The offset of an operation in the file, in words of 8 bytes. */
static inline uint32_t loader_place(const struct loaded_process *p,
	const struct device_record *device)
{
	return (uint32_t)((size_t)((const uint8_t *)device - p->reader.base) / TRACE_ALIGN);
}

/* Moves operations of that id to p.taken, in order of start. */
void loader_take_devices(struct loader *loader, uint32_t correlation);
/* Copies properties known only from p.taken to the call, and the CUPTI id to its stream. */
int loader_match_devices(struct loader *loader, struct loaded_call *call);
/* Writes operations without a call. */
int loader_write_unmatched(struct loader *loader);

/* Writes the rows of operand of a call, by the memory alive at that call. */
int loader_write_operands(struct loader *loader, const struct loaded_call *call);

/* Writes memory that the kernel of a launch reads or writes: an operand, and its extent. */
int loader_write_buffer(struct loader *loader, const struct loaded_call *call, int writes,
	int64_t item, uint64_t address, uint64_t bytes);

/* Writes the memory that a graph launch accesses, by allocation. */
int loader_write_graph_operands(struct loader *loader, const struct loaded_call *call,
	const uint64_t *address, size_t count);

/*
 * Returns the words after the fields of a call: lists of count each, then more others; NULL:
 * truncated.
 */
const uint64_t *loader_list_words(const struct loaded_call *call, size_t count, size_t lists,
	size_t more);

/* Writes the parameters of a launch: p.pointed and all other words, including p.stray. */
int loader_write_launch(struct loader *loader, const struct loaded_call *call);

/* Returns the memory kind of an allocation. */
const struct allocation_kind *loader_allocation_kind(const struct life *life);

/*
 * Adds a stream that no call created, from begin on (ticks).  Returns its number, 0 when out of
 * memory.
 */
uint32_t loader_add_stream(struct loader *loader, uint64_t key, uint64_t begin,
	const struct loaded_stream *stream);

/* Returns the row of the kernel with that name, added if missing; 0 on failure. */
uint32_t loader_kernel(struct loader *loader, const char *mangled, size_t length);

/* Keys of lives without a handle; no driver uses these as handles. */
#define KEY_DEFAULT_STREAM (UINT64_C(1) << 63)
#define KEY_DEVICE_STREAM (UINT64_C(1) << 62)
#define KEY_ARRAY (UINT64_C(1) << 63)

#endif
