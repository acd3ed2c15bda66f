/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the detector: hazards.c processes the streams of a run, graph_hazards.c the nodes of
 * the graphs that it launches.  Functions return 0, or -1 after a message, unless stated otherwise.
 */
#ifndef CUFENCE_HAZARDS_INTERNAL_H
#define CUFENCE_HAZARDS_INTERNAL_H

#include "dependents.h"
#include "fences.h"
#include "hazards.h"
#include "history.h"
#include "incidents.h"
#include "loads.h"
#include "callers.h"
#include "confidence.h"
#include "operations.h"
#include "order_reaches.h"
#include "reuse.h"
#include "run_columns.h"
#include "usage.h"

enum hazard_rule {
	MISSING_FENCE,
	ACCIDENTAL_ORDER,
	HOST_BUFFER,
	ASYNC_ALLOC,
	EARLY_HOST_READ,
	EARLY_HOST_WRITE
};

struct hazard {
	int64_t process, allocation, low, high; /* low, high: addresses of the common bytes */
	struct operation_point earlier, later;
	enum evidence evidence[2]; /* of the later access, of the earlier one */
	int same_bytes;            /* 1: a byte that both surely access; 0: at most */
	int64_t launch;            /* for nodes of a graph: its first launch; else 0 */
	int64_t count;             /* launches of the graph; else 1 */
	int64_t more, last;        /* further operations counted here, and the last one's call */
	int64_t via; /* the first call that waited for the earlier one, or loaded code; 0: none */
	enum hazard_rule rule;
	enum access_order order;
	enum confidence confidence;
	struct fence fence;
};

/* Hazards within an executable graph, without later updates of it. */
struct graph_hazards {
	size_t first, count;
};

/* Hazards whose explanation holds only until a stream uses an allocation. */
#define WATCHES 16

struct watch {
	int64_t stream, allocation; /* stream 0: unused */
	size_t hazard;
	int64_t earlier, later;    /* calls of the hazard */
	enum mistake_id otherwise; /* explanation once the stream has used it */
};

struct hazards {
	struct db *db;
	struct operations operations;
	const struct run *run;
	struct run_cursor made, freed; /* allocations, by call */
	struct usage usage;
	struct fences fences, captured; /* outside and inside of captures */
	struct dependents dependents;
	struct id_map graphs;       /* number of a content -> struct graph_hazards */
	struct id_map graph_memory; /* content of a graph, by number -> struct graph_memory */
	struct map graph_addresses; /* address of such memory -> allocation, 0: freed */
	struct map last_functions;  /* stream -> start of its last host function's call, ns */
	struct map forgotten;       /* process -> accesses removed from full histories */
	struct map skipped;         /* process -> graphs that were not judged */
	struct map skipped_execs;   /* executables counted there */
	struct map left_out;        /* process -> launches of graphs that were not read */
	struct incidents incidents;
	struct map scripted; /* processes with calls made by a script */
	struct map outside;  /* streams that have waited for a value in memory */
	struct callers callers;
	struct reuse reuse;
	struct loads loads;
	struct access_reader *others; /* reads the accesses of a second operation */
	struct host_use *uses; /* last uses of host memory, a ring; NULL: no guard reports any */
	size_t use_count;      /* in all */
	int uses_forgotten;    /* since the last access of the host */
	struct map functions;  /* threads that ran host functions, filled with uses */
	struct watch watch[WATCHES];
	unsigned watches;
	sqlite3_stmt *edges; /* edges of a graph */
	int has_ports;       /* some edge is from a programmatic port */
	struct hazard *hazard;
	size_t count;
	struct map pairs; /* pair of places, by hash -> the first row of its last operation */
	uint64_t judged;  /* pairs of accesses so far */
	uint64_t judged_in_graphs;
	/* State of the current call: */
	struct order *order;
	struct order_reaches reaches;
	struct ordering ordering;
	struct operation_point now;
	const struct accesses *accesses; /* of the call's operation, NULL: none known */
	int launched_early; /* the last order looked up: none, the later kernel begins early */
	int read_early;     /* the same, the later copy reads out of stream order */
	int64_t process;
	int64_t launch;     /* of the graph whose nodes are being judged, 0: none */
	size_t first;       /* index of the current operation's first hazard */
	struct map earlier; /* earlier operation -> index of the hazard with it */
};

/*
 * Adds hazards between an access of the current operation and earlier accesses to the same memory.
 */
int hazards_judge(struct hazards *hazards, const struct shared *shared,
	const struct memory_access *access);

/* Judge an access of the current operation, and add it to the history. */
int hazards_check_access(struct hazards *hazards, const struct memory_access *access);
int hazards_add_access(struct hazards *hazards, const struct memory_access *access);

/* --- hazard_rows.c --- */

/* Returns a hash that is equal for calls of one site and type, with the same kernel. */
uint64_t hazards_place(const struct run *run, int64_t call);

/* Adds a hazard of the current operation. */
void hazards_add(struct hazards *hazards, const struct hazard *hazard);

/*
 * Ends the hazards of the current operation: if there are too many rows, hazards of a pair of
 * places that has one are counted there.  graph_first: the first row of the graph whose node the
 * operation is, else 0.
 */
void hazards_keep_rows(struct hazards *hazards, size_t graph_first);

/* --- host_touches.c --- */

/* Finds out whether accesses of the program itself were recorded; required before the other. */
void hazards_find_touches(struct hazards *hazards, const struct walk_part *part);

/*
 * If another thread has observed it complete, that thread may have signalled this one by means that
 * are not recorded.
 */
int hazards_any_observed(const struct order *order, const struct order_epoch *epoch);

/* Processes work that uses host memory, or an access of the program itself to such memory. */
int hazards_process_touch(struct hazards *hazards, const struct walk_call *call);

/* --- lower_confidence.c --- */

/*
 * Returns 1 if something other than CUDA's order may order the current operation after an earlier
 * one, -1 after a message.
 */
int hazards_doubt(struct hazards *hazards, const struct operation_point *earlier,
	int64_t allocation);

/* Notes that the call's stream may wait for a value in memory from here on; called first. */
void hazards_note_outside(struct hazards *hazards, const struct walk_call *call);

/*
 * Returns 1 if the current operation may use memory that an allocator has handed out again, and
 * did not use what the earlier one left there; -1 after a message.
 */
int hazards_reuses(struct hazards *hazards, const struct past_access *past,
	const struct memory_access *access);

/* Returns 1 if one of these accesses waits in a loop for a value in memory. */
int hazards_spins(const struct memory_access *access, size_t count);

/* Counts accesses that are no longer compared; passes on 0 and -1. */
int hazards_forget(struct hazards *hazards, int count);

/* Adds an access of the current operation by history_add(), and counts accesses removed by it. */
int hazards_remember(struct hazards *hazards, struct shared *shared,
	const struct memory_access *access);

/* --- memory_lives.c --- */

/* Returns the access of an allocation or free in stream order: it writes all of the memory. */
struct memory_access hazards_life_of(const struct run *run, uint32_t allocation);

/* Returns the allocation that a call made, 0: none. */
uint32_t hazards_made_by(const struct run *run, int64_t call);

/* Processes what the call allocates and frees; submitted: in stream order. */
int hazards_process_lives(struct hazards *hazards, const struct walk_call *call, int submitted);

/* Starts another life of the memory that a launched graph allocates, before its nodes use it. */
int hazards_begin_graph_memory(struct hazards *hazards, const struct walk_call *call);

void hazards_release_graph_memory(struct hazards *hazards);

/* --- reasons.c --- */

/*
 * Returns why nothing orders the next hazard, whose later operation is the current one: a fence
 * without effect, or something that may have been mistaken for one.
 */
struct fence hazards_explain(struct hazards *hazards, const struct shared *shared,
	const struct hazard *hazard);

/* Corrects explanations when the current operation uses that memory. */
void hazards_watch(struct hazards *hazards, int64_t allocation);

/* Processes an event wait, which may be the fence that a previous hazard lacked. */
void hazards_find_late(struct hazards *hazards, const struct walk_call *wait);

/* Judges the nodes of a launched graph; once for each content of an executable. */
int hazards_check_graph(struct hazards *hazards, const struct graph_content *content,
	const struct walk_call *launch);

/* Counts one more launch of the content of that number. */
void hazards_count_graph(struct hazards *hazards, int64_t number);

#endif
