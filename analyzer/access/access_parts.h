/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of access_read(): access.c reads what single operations do, access_graph.c what graphs
 * consist of.  Functions: 0, or -1 after a message.
 */
#ifndef CUFENCE_ACCESS_PARTS_H
#define CUFENCE_ACCESS_PARTS_H

#include "access.h"
#include "idmap.h"
#include "run_columns.h"

/* Calls whose lists are at hand, and pairs of lists that were compared; powers of two. */
#define ACCESS_ASKED (1 << 16)
#define ACCESS_COMPARED (1 << 16)

struct access_reader {
	const struct run *run;
	struct run *own;
	uint64_t operands_at, extents_at, launches_at, objects_at; /* rows found last */
	struct idmap young, old; /* hash -> struct list of access_lists.c */
	size_t young_bytes;
	uint32_t generation;
	uint64_t numbers; /* of lists, so far */
	struct access_asked {
		int64_t call; /* 0: none */
		const struct accesses *list;
		uint32_t generation; /* in which it was young */
	} * asked;
	struct access_compared {
		uint64_t low, high; /* numbers of lists */
		enum access_overlap found;
	} * compared;
	struct access_graphs *graphs;
	struct accesses scratch;
};

/* What says what a call does. */
struct access_rows {
	enum call_kind kind;
	const struct run_payload *payload;
	const struct run_operand *operand, *operands_end; /* NULL: none */
	const struct run_extent *extent, *extents_end;
	uint32_t shape; /* of which more is known than of the kernel, 0: none */
	unsigned content;
	int64_t exec;
};

/* 0, or -1: there is no such call. */
int access_find_rows(struct access_reader *reader, int64_t call, struct access_rows *rows);

struct access_graphs *access_graphs_open(struct db *db);
void access_graphs_close(struct access_graphs *graphs);

void accesses_release(struct accesses *accesses);

/* Adds what lies in an allocation of that start and size. */
int access_add(struct accesses *accesses, const struct memory_access *access, int64_t start,
	int64_t bytes);

/*
 * Joins what lies in the same allocation and goes in the same direction, where there are many:
 * accesses of which all is known stay apart from the others, up to a number.
 */
void access_shorten(struct accesses *accesses);

/*
 * Adds what an operation does that a call describes: as that call's own, or as a node of a graph of
 * that type (graph_node.type).  complete and named are those of this operation alone.
 */
int access_add_operation(struct access_reader *reader, const struct access_rows *rows,
	const char *node_type, struct accesses *accesses);

/*
 * The number of the version of the executable that a call launches; 0: of so many versions it is
 * not looked what they do, access_add_named() says what the launch names.
 */
int access_find_version(struct access_reader *reader, int64_t call, const struct access_rows *rows,
	uint64_t *number);
int access_copy_version(struct access_reader *reader, int64_t exec, uint64_t number,
	struct accesses *accesses);
int access_add_named(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses);

#endif
