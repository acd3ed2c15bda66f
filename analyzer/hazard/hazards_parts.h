/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the detector: hazards.c follows the streams of a run, graph_hazards.c the nodes of
 * the graphs that it launches.  Functions: 0, or -1 after a message.
 */
#ifndef CUFENCE_HAZARDS_PARTS_H
#define CUFENCE_HAZARDS_PARTS_H

#include "dependents.h"
#include "fences.h"
#include "hazards.h"
#include "history.h"
#include "incidents.h"
#include "library_calls.h"
#include "operations.h"
#include "order_reaches.h"
#include "run_columns.h"
#include "usage.h"

enum confidence { CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };
enum hazard_rule {
	MISSING_FENCE,
	ACCIDENTAL_ORDER,
	HOST_BUFFER,
	ASYNC_ALLOC,
	EARLY_HOST_READ,
	EARLY_HOST_WRITE
};

struct hazard {
	int64_t process, allocation, low, high; /* low, high: bytes in common, addresses */
	struct operation_point earlier, later;
	enum evidence evidence[2]; /* of the later one, of the earlier one */
	int64_t launch;            /* the first of the graph whose nodes they are, 0: of none */
	int64_t count;             /* launches of it */
	int64_t via; /* the first call that happened to wait for the earlier one, 0: none did */
	enum hazard_rule rule;
	enum access_order order;
	enum confidence confidence;
	const char *why; /* NULL: nothing explains it */
};

/* Hazards within an executable graph as it is. */
struct graph_hazards {
	size_t first, count;
};

/* Hazards whose explanation holds as long as a stream does not use some memory. */
#define WATCHES 16

struct watch {
	int64_t stream, allocation; /* stream 0: there is none */
	size_t hazard;
	int64_t earlier, later; /* its calls */
	const char *otherwise;  /* what explains it then */
};

struct hazards {
	struct db *db;
	struct operations operations;
	const struct run *run;
	struct run_cursor made, freed; /* allocations, by call */
	struct usage usage;
	struct fences fences, captured; /* of streams, and of streams that are captured */
	struct dependents dependents;
	struct idmap graphs;        /* executable -> struct graph_hazards */
	struct idmap graph_memory;  /* executable -> struct graph_memory */
	struct map graph_addresses; /* of such memory -> allocation, 0: it was freed */
	struct map told;            /* stream -> entry of its last host function's call */
	struct map forgotten;       /* process -> accesses that histories had no room for */
	struct incidents incidents;
	struct map scripted; /* processes of which calls have frames of a script */
	struct map outside;  /* streams that have waited for a value in memory */
	struct library_calls library;
	struct access_reader *others; /* for what both operations of a pair access */
	struct host_copy *copies;     /* the last ones of pinned memory, a ring (host_touches.c) */
	size_t copy_count;            /* so far */
	struct run_cursor ends;       /* of such copies, by call */
	struct run_cursor extents;    /* likewise */
	struct watch watch[WATCHES];
	unsigned watches;
	sqlite3_stmt *edges; /* of a graph */
	struct hazard *hazard;
	size_t count;
	/* While a call is looked at: */
	struct order *order;
	struct order_reaches reaches;
	struct ordering ordering;
	struct operation_point now;
	int launched_early; /* the order asked for last: none, as the later kernel begins early */
	int read_early;     /* likewise, as the later copy reads out of stream order */
	int64_t process;
	int64_t launch; /* of the graph whose nodes are looked at, 0: none are */
	size_t first;   /* of its hazards */
};

/* Hazards of an access of the present operation with those to the same memory before. */
int hazards_judge(struct hazards *hazards, const struct shared *shared,
	const struct memory_access *access);

/* The present operation makes an access: it is judged, and then remembered. */
int hazards_see_access(struct hazards *hazards, const struct memory_access *access);
int hazards_add_access(struct hazards *hazards, const struct memory_access *access);

/* One more hazard of the present operation. */
int hazards_add(struct hazards *hazards, const struct hazard *hazard);

/* --- host_touches.c --- */

/* The call copies to or from pinned memory, or is the program's own access to some. */
int hazards_see_touch(struct hazards *hazards, const struct walk_call *call);

/* --- doubts.c --- */

/* 1: something other than CUDA's order may order the present operation after an earlier one. */
int hazards_doubt(struct hazards *hazards, const struct operation_point *earlier,
	int64_t allocation);

/* Before the call is looked at: its stream may wait for memory from here on. */
int hazards_note_outside(struct hazards *hazards, const struct walk_call *call);

/* 1: one of these accesses waits for what others store. */
int hazards_spins(const struct memory_access *access, size_t count);

/* The present operation makes it; history_add() with what that forgets counted. */
int hazards_remember(struct hazards *hazards, struct shared *shared,
	const struct memory_access *access);

/* --- memory_lives.c --- */

/* Memory that is allocated or freed in stream order: all of it is written. */
struct memory_access hazards_life_of(const struct run *run, uint32_t allocation);

/* The allocation that a call made, 0: none. */
uint32_t hazards_made_by(const struct run *run, int64_t call);

/* What the call allocates and frees; submitted: in stream order. */
int hazards_see_lives(struct hazards *hazards, const struct walk_call *call, int submitted);

/*
 * The call launches a graph: the memory that it allocates has another life from here on, in which
 * its nodes use it.
 */
int hazards_begin_graph_memory(struct hazards *hazards, const struct walk_call *call);

void hazards_release_graph_memory(struct hazards *hazards);

/* --- reasons.c --- */

/* To be known before anything is explained. */
int hazards_find_scripts(struct hazards *hazards);

/*
 * The fence that is there, or what may have been taken for one: hazard.why of what is the next
 * hazard, whose later operation is the present one.
 */
const char *hazards_explain(struct hazards *hazards, const struct shared *shared,
	const struct hazard *hazard);

/* The present operation uses that memory. */
void hazards_watch(struct hazards *hazards, int64_t allocation);

/* A stream waits for an event: it may be the fence that some hazard lacked. */
void hazards_find_late(struct hazards *hazards, const struct walk_call *wait);

/* What a graph that is launched does within; once for each executable as it is. */
int hazards_see_graph(struct hazards *hazards, const struct graph_content *content,
	const struct walk_call *launch);

/* One more launch of it. */
void hazards_count_graph(struct hazards *hazards, int64_t exec);

#endif
