/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of load_traces(), shared by load*.c.  A trace is mapped and read twice:
 *
 *	scan     tables (sites, modules, kernels ...) are written, operations of the device filed by
 *	         correlation id, and where each thread's calls are is noted
 *	calls    in order of entry, one after the other: their parent is found (calls), what their
 *	         handles mean (resolve), their operations (device); what that gives is written
 *
 * Memory is what the program has at a time (streams, events, memory) and four bytes a call
 * and an operation, whatever the trace's size.
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
#include "sparse_words.h"
#include "stream_kind.h"

struct file_call_type {
	int64_t id; /* row; 0: not defined by this file */
	const struct call_type_record *record;
	uint64_t fields; /* bit per field kind */
};

/* What a call's fields say, by enum field_kind. */
struct call_fields {
	uint64_t value[FIELD_KIND_COUNT];
	uint64_t present; /* bit per field kind */
};
_Static_assert(FIELD_KIND_COUNT <= 64, "a bit per field kind");

/*
 * One call, returned or not, while it is looked at.  Calls of a process are numbered from 1 in
 * order of entry; rows are database ids; 0: none.
 */
struct loaded_call {
	const struct record *record; /* struct call_record, or enter_record if it never returned */
	const struct file_call_type *type;
	struct call_fields fields; /* none if it never returned */
	uint64_t enter, exit;      /* ticks; exit UINT64_MAX: it never returned */
	uint32_t number, parent;
	uint32_t thread;                /* row */
	uint32_t context;               /* row */
	uint32_t kernel;                /* row */
	uint32_t stream;                /* life */
	int64_t event;                  /* row */
	unsigned kind;                  /* enum call_kind */
	int returned, failed;           /* failed: or did not return */
	uint8_t dst_memory, src_memory; /* enum memory_kind */
};

/* A call of a lane; parent: index + 1 among those that are known together. */
struct lane_call {
	const struct record *record;
	uint64_t enter, exit;
	uint32_t number, parent;
};

/* What a thread recorded: load_lanes.c. */
struct lane {
	uint32_t thread; /* row */
	struct segment {
		const char *start, *end;
	} * segment; /* of the mapped file */
	size_t segment_count, segment_next;
	const char *position, *end; /* in the segment before segment_next */
	size_t chunk;               /* of the last segment, offset */
	uint64_t damaged;           /* reader.damaged then: damaged records are between segments */
	uint64_t last;              /* ticks, when the last one filed returned */
	struct lane_call *call;     /* in order of entry, of which next comes next */
	size_t count, next, room;
};

/* Beside the life of the same index. */
struct loaded_stream {
	uint64_t handle;
	uint32_t context, thread; /* rows, 0: none */
	enum stream_kind kind;
	int32_t priority;
	int64_t cupti_id; /* -1: no operation seen */
};

/* What life.kind of an allocation stands for. */
struct allocation_kind {
	unsigned made_by; /* enum call_kind */
	const char *memory;
	enum memory_kind kind;
};

/* A range of the program's own that was not closed yet; load_host.c. */
struct open_range;

/* A kernel whose handle no call was seen to name yet; load_scan.c. */
struct unplaced_function;

struct loaded_context {
	struct context_record record; /* the last word on it */
	uint32_t row;
	uint32_t users; /* of a primary one: retained and not released */
};

struct loaded_thread {
	uint32_t tid;
	const struct thread_record *name; /* NULL: not known */
	uint32_t made_by, joined_by;      /* numbers of calls */
	uint32_t *call;                   /* numbers of those it made */
	size_t call_count;
	int64_t outermost, placed; /* those not made within another one; those with a site */
	int64_t inside;            /* ns in them */
	int64_t stuck;             /* when it entered the one that never returned, or DB_NULL */
};

/* The recorder keeps as many (preload/arguments.h). */
#define MAX_POINTED 128

enum loader_insert {
	INSERT_PROCESS,
	INSERT_LOSS,
	INSERT_PROPERTY,
	INSERT_THREAD,
	INSERT_DEVICE,
	INSERT_CONTEXT,
	INSERT_STREAM,
	INSERT_EVENT,
	INSERT_ALLOCATION,
	INSERT_KERNEL,
	INSERT_MODULE,
	INSERT_SITE,
	INSERT_FRAME,
	INSERT_CALL_TYPE,
	INSERT_OVERHEAD,
	INSERT_CALIBRATION,
	INSERT_SYMBOL,
	INSERT_POLLING,
	INSERT_RANGE,
	INSERT_CODE,
	INSERT_RECORDING,
	INSERT_THREAD_USE,
	INSERT_DEVICE_ATTRIBUTE,
	INSERT_PARAMETER,
	UPDATE_KERNEL,
	INSERT_IMAGE_PIECE,
	INSERT_IMAGE_FILE,
	INSERT_VARIABLE,
	INSERT_KERNEL_IMAGE,
	INSERT_GRAPH,
	INSERT_GRAPH_NODE,
	INSERT_GRAPH_EDGE,
	INSERT_GRAPH_EXEC,
	INSERT_GRAPH_BODY,
	INSERT_GRAPH_UPDATE,
	INSERT_GRAPH_CHANGE,
	INSERT_EXTENT,
	INSERT_SHAPE,
	INSERT_ALIAS,
	INSERT_TWIN,
	INSERT_ARRAY,
	INSERT_TEXTURE,
	UPDATE_TEXTURE,
	INSERT_COUNT
};

/* What one trace fills and the next one starts from empty. */
struct loaded_process {
	struct trace_reader reader;
	struct clock clock;
	struct file_call_type *type; /* by call number */
	struct lane *lane;
	size_t lane_count, last_lane;
	uint32_t *heap; /* lanes by their next call */
	size_t heap_count;
	uint32_t call_count;                                /* calls seen so far */
	enum { INIT_UNKNOWN, INIT_FAILED, INIT_DONE } init; /* what calls of cuInit came to */
	struct slots device; /* operations by correlation: load_device.c */
	uint64_t *more_device;
	size_t more_device_count;
	const struct device_record **taken; /* those of the call that is looked at */
	size_t taken_count;
	struct launch_word stray[LAUNCH_WORDS_MAX]; /* its words that look like addresses only */
	size_t stray_count;
	uint64_t *named; /* addresses in allocations that it names */
	size_t named_count, named_room;
	int unnamed; /* it names others, too, in a batch */
	uint32_t pointed
		[MAX_POINTED]; /* its words that point into an allocation: launch_pointed() */
	size_t pointed_count;
	const struct calibration_record **calibration;
	size_t calibration_count;
	const struct window_record **window;
	size_t window_count;
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
	struct ranges live_memory;    /* of the lives of allocations */
	struct map variables;         /* address -> module that the variable is of */
	struct map mapped;            /* physical memory -> life of its first mapping */
	struct map mapped_at;         /* address of that -> the physical memory */
	struct map known_by;      /* address of a mapping -> row of the allocation it is known by */
	struct map known_at;      /* the same -> its place in that */
	struct map known_first;   /* row of such an allocation -> its address */
	struct map opened;        /* address of another process's memory -> how often */
	struct ranges reserved;   /* addresses, each of one cuMemAddressReserve */
	struct twins *twins;      /* load_twins.c; NULL: none yet */
	struct map levels;        /* array that is a part of another one -> that one */
	struct map level_numbers; /* the same -> which part */
	struct graphs *graphs;    /* load_graph.c; NULL: none yet */
	struct images *images;    /* load_images.c; NULL: none yet */
	struct open_range *open_range;
	size_t open_range_count;
	uint64_t first_tick;
	int64_t start, end; /* ns: when it began, and the last thing seen */
	uint64_t refused;   /* records that load_accept.c left out */
};

/* DB_NULL, which is the least number, comes first. */
struct operation_end {
	int64_t end, id;
};

struct loader {
	struct db *db;
	sqlite3_stmt *insert[INSERT_COUNT];
	/* Tables and indexes too large for INSERT. */
	struct bulk *calls, *operations, *operands, *launches;
	struct bulk *call_thread, *operation_call, *operand_call, *operation_end;
	struct rows *objects;
	struct progress progress;  /* bytes of all traces, each of which is read twice */
	int64_t origin;            /* CLOCK_REALTIME ns of time 0 */
	int64_t lasted;            /* ns, the sum of all durations; up to CLOCK_MOST_SUM */
	struct operation_end *end; /* of each operation */
	/* Rows written so far, so that ids are known before rows are. */
	int64_t process, call, operation, thread, context, stream, event, allocation, kernel, site;
	int64_t graph, node, exec, shape;
	uint64_t words_bytes;  /* of shapes */
	struct map call_types; /* hash of name, kind and runtime -> row */
	struct map images;     /* hash -> 1: its pieces were written */
	const char *path;
	struct loaded_process p;
};

/* So many bytes were looked at. */
void loader_look_up(struct loader *loader);
static inline void loader_step(struct loader *loader, size_t bytes)
{
	loader->progress.done += bytes;
	if (loader->progress.done >= loader->progress.next)
		loader_look_up(loader);
}

/*
 * Looks at all traces: load[i] is 1, or 0 where the process has been given before, and origin and
 * progress are set.  0, or -1 after a message.
 */
int loader_choose_files(struct loader *loader, char *const *path, size_t count, char *load);
/* Whether the process of this trace is still there, with the file mapped. */
int loader_is_running(const struct loader *loader);

/* Each: 0, or -1 after a message. */
int loader_scan(struct loader *loader);
int loader_start_calls(struct loader *loader);
int loader_resolve(struct loader *loader, struct loaded_call *call);
/*
 * The context a call is about: the current one, or the one it names; of a call that ends contexts
 * the one that it ended, or none.  Then its streams, events and memory end.
 */
int loader_resolve_context(struct loader *loader, struct loaded_call *call);
int loader_end_context(struct loader *loader, const struct loaded_call *call);

/*
 * Memory that is used through other addresses (load_twins.c): a multicast object is bound; a handle
 * came in, or went out; physical memory was mapped; host memory was registered.  Calls that failed
 * do nothing.  0, or -1 after a message.
 */
int loader_bind_multicast(struct loader *loader, const struct loaded_call *call);
int loader_note_handle(struct loader *loader, const struct loaded_call *call);
/* Before struct loaded_process.mapped forgets a handle. */
void loader_settle_handle(struct loader *loader, uint64_t handle);
/* A handle is that of new memory, or of a new multicast object; 0, or -1 when out of memory. */
int loader_renew_handle(struct loader *loader, uint64_t handle);
int loader_join_mapping(struct loader *loader, const struct loaded_call *call,
	const struct life *life);
int loader_join_pages(struct loader *loader, const struct loaded_call *call,
	const struct life *life);
void loader_release_twins(struct loaded_process *p);

/*
 * Arrays are allocations whose bytes have places of their own (schema.sql, table array).  Each of
 * these does nothing for calls that failed: 0, or -1 after a message.
 */
#define ARRAY_PITCH ((uint64_t)1 << 21)
#define ARRAY_SLICE ((uint64_t)1 << 37)
#define ARRAY_LEVEL ((uint64_t)1 << 54)
int loader_make_array(struct loader *loader, const struct loaded_call *call, uint8_t kind);
int loader_end_array(struct loader *loader, const struct loaded_call *call);
/* Row of the allocation that a call means by an array or a part of one, and where it begins; 0: not
 * known. */
int64_t loader_find_array(struct loader *loader, uint64_t array, uint64_t enter, uint64_t *begin);
/* Levels of arrays, textures and surfaces: what that call says of them. */
int loader_take_textures(struct loader *loader, const struct loaded_call *call);

/* The call unloads a module: its variables are gone. */
int loader_end_variables(struct loaded_process *p, const struct loaded_call *call);
int loader_write_call(struct loader *loader, const struct loaded_call *call);
int loader_write_device(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call);
/* lives.retire of events and allocations; arg: the loader. */
int loader_write_event(void *arg, const struct life *life);
int loader_write_allocation(void *arg, const struct life *life);
/* Ranges and threads: what that call says of them. */
int loader_take_host(struct loader *loader, const struct loaded_call *call);
/* What else a call names: rows of call_object. */
int loader_write_objects(struct loader *loader, const struct loaded_call *call);
/* One rare statement with its numbers, two to four. */
int loader_run(struct loader *loader, const char *sql, int64_t first, int64_t second, int64_t third,
	int64_t fourth);
/* role: a constant. */
int loader_write_object(struct loader *loader, const struct loaded_call *call, const char *role,
	int64_t object);
/* Graphs, nodes and captures: what that call says of them. */
int loader_take_graphs(struct loader *loader, const struct loaded_call *call);
void loader_release_graphs(struct loaded_process *p);
/* 1 if the call's stream is captured, so that the call becomes a node. */
int loader_is_captured(const struct loader *loader, const struct loaded_call *call);
/* During the scan: images, whose pieces are written at the end. */
int loader_note_image(struct loader *loader, const struct image_record *image);
int loader_insert_image_file(struct loader *loader, const struct image_file_record *file);
/* Of a load of a module, a query for a function or a launch: where a kernel is from. */
int loader_take_images(struct loader *loader, const struct loaded_call *call);
int loader_write_images(struct loader *loader);
void loader_release_images(struct loaded_process *p);
/* In hexadecimal; NULL: there is none. */
const char *loader_build_id(const uint8_t id[20], char text[41]);
/* What is known at the end: what is still open, still alive and belongs to no call. */
int loader_write_rest(struct loader *loader);
int loader_write_host(struct loader *loader);
/* The stretches of the process, whose end must be known, and what is lost between them. */
int loader_write_recording(struct loader *loader);
int loader_insert_loss(struct loader *loader, const char *reason, uint64_t count);

/* The next call in order of entry: 1, 0 at the end, -1 after a message. */
int loader_next_call(struct loader *loader, struct loaded_call *call);

/* During the scan: a record of a call belongs to that thread (row). */
int lane_file(struct loader *loader, uint32_t thread, const struct record *record);
/* The lane's next calls, none at its end. */
int lane_fill(struct loader *loader, struct lane *lane);
/* From order of return to order of entry, with parents. */
int lane_order(struct lane *lane);
void lane_release(struct lane *lane);

/* During the scan: an operation, to be found by its correlation id. */
int loader_file_device(struct loader *loader, const struct device_record *device);
/* After the scan. */
void loader_sort_devices(struct loader *loader);
/* p.taken: those of that id, in order of start; none are left of it. */
int loader_take_devices(struct loader *loader, uint32_t correlation);
/* The call learns from p.taken what only the device knows, and its stream the id it has there. */
int loader_match_devices(struct loader *loader, struct loaded_call *call);
/* The operations that no call took. */
int loader_write_unmatched(struct loader *loader);

/* The memory a call names, as of now in the order of calls: its rows of operand. */
int loader_write_operands(struct loader *loader, const struct loaded_call *call);

/* What a graph's launch names, by allocation. */
int loader_write_graph_operands(struct loader *loader, const struct loaded_call *call,
	const uint64_t *address, size_t count);

/* The words behind the fields of a call: lists of count each, then more others; NULL: cut off. */
const uint64_t *loader_list_words(const struct loaded_call *call, size_t count, size_t lists,
	size_t more);

/* What a launch passes: p.pointed and all other words, p.stray among them. */
int loader_write_launch(struct loader *loader, const struct loaded_call *call);

/* What the memory of an allocation is called. */
const struct allocation_kind *loader_allocation_kind(const struct life *life);

/* A stream life no call created, from begin on (ticks): its number, or 0 when out of memory. */
uint32_t loader_add_stream(struct loader *loader, uint64_t key, uint64_t begin,
	const struct loaded_stream *stream);

/* Row of the kernel of that name, written if need be; 0 when that failed. */
uint32_t loader_kernel(struct loader *loader, const char *mangled, size_t length);

/* Handles that no driver gives out, as keys of the lives that belong to none. */
#define KEY_DEFAULT_STREAM (UINT64_C(1) << 63)
#define KEY_DEVICE_STREAM (UINT64_C(1) << 62)
#define KEY_ARRAY (UINT64_C(1) << 63)

#endif
