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
#include "operations.h"
#include "run_columns.h"

enum confidence { CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };
enum hazard_rule { MISSING_FENCE, ACCIDENTAL_ORDER, HOST_BUFFER, ASYNC_ALLOC };

struct hazard {
	int64_t process, allocation, low, high; /* low, high: bytes in common, addresses */
	struct operation_point earlier, later;
	enum access_evidence evidence[2]; /* of the later one, of the earlier one */
	int64_t launch; /* the first of the graph whose nodes they are, 0: of none */
	int64_t count;  /* launches of it */
	enum hazard_rule rule;
	enum access_order order;
	enum confidence confidence;
	const char *why; /* NULL: nothing explains it */
};

/* Hazards within an executable graph as it is. */
struct graph_hazards {
	size_t first, count;
};

struct hazards {
	struct db *db;
	struct operations operations;
	const struct run *run;
	struct run_cursor made, freed;  /* allocations, by call */
	struct idmap shared;            /* allocation -> struct shared */
	struct fences fences, captured; /* of streams, and of streams that are captured */
	struct dependents dependents;
	struct idmap graphs; /* executable -> struct graph_hazards */
	struct map told;     /* stream -> entry of its last host function's call */
	sqlite3_stmt *edges; /* of a graph */
	struct hazard *hazard;
	size_t count;
	/* While a call is looked at: */
	struct order *order;
	struct ordering ordering;
	struct operation_point now;
	int launched_early; /* the order asked for last: none, as the later kernel begins early */
	int64_t process;
	int64_t launch; /* of the graph whose nodes are looked at, 0: none are */
	size_t first;   /* of its hazards */
};

/* Hazards of an access of the present operation with those of a history. */
int hazards_judge(struct hazards *hazards, const struct history *history,
	const struct memory_access *access, int on_host);

/* What a graph that is launched does within; once for each executable as it is. */
int hazards_see_graph(struct hazards *hazards, const struct graph_content *content,
	const struct walk_call *launch);

/* One more launch of it. */
void hazards_count_graph(struct hazards *hazards, int64_t exec);

#endif
