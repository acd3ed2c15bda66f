/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of access_read(): access.c reads single operations, access_graph.c the content of
 * graphs.  Functions return 0, or -1 after a message, unless stated otherwise.
 */
#ifndef CUFENCE_ACCESS_INTERNAL_H
#define CUFENCE_ACCESS_INTERNAL_H

#include "conflict.h"
#include "id_map.h"
#include "run_columns.h"

/* Size of the cache of compared pairs; a power of two. */
#define ACCESS_COMPARED (1 << 16)

struct access_reader {
	const struct run *run;
	struct run *own;
	uint64_t operands_at, extents_at, launches_at, objects_at; /* rows found last */
	struct id_map young, old; /* hash -> struct list (access_lists.c) */
	size_t young_bytes;
	uint32_t generation;
	struct list **list;    /* by number; NULL: freed */
	size_t list_count;     /* lists made so far, and number 0 */
	uint32_t *list_of;     /* call -> number of its list, 0: not read yet, or of a graph */
	struct run *shared_in; /* the run whose reader it is, NULL: it is not shared */
	unsigned users;        /* of a shared one and its parts */
	struct access_reader
		*whole; /* the shared one, of the reader of a further part; else NULL */
	struct access_reader **part; /* of a shared one: those, by part, NULL: none */
	size_t part_count;
	struct access_compared {
		uint64_t low, high; /* numbers of the two lists */
		enum conflict found;
	} * compared;
	struct access_graphs *graphs;
	struct accesses scratch;
};

/* The rows that determine the accesses of a call. */
struct access_rows {
	enum call_kind kind;
	const struct run_payload *payload;
	const struct run_operand *operand, *operands_end; /* NULL: none */
	const struct run_extent *extent, *extents_end;
	uint32_t shape; /* a launch shape with more details than the kernel, 0: none */
	unsigned content;
	int64_t exec;
};

/* Returns 0, or -1 if there is no such call. */
int access_find_rows(struct access_reader *reader, int64_t call, struct access_rows *rows);

struct access_graphs *access_graphs_open(struct db *db);
void access_graphs_close(struct access_graphs *graphs);

void accesses_release(struct accesses *accesses);

/* Adds the part of an access that is within an allocation of that start and size. */
void access_add(struct accesses *accesses, const struct memory_access *access, int64_t start,
	int64_t bytes);

/*
 * Shortens a long list by joining accesses to one allocation with the same direction.  Up to a
 * limit, accesses that are known exactly are kept separate.
 */
void access_shorten(struct accesses *accesses);

/*
 * Adds the accesses of a call's operation: as the call's own, or as those of a graph node of that
 * type (graph_node.type).  complete and named are set for this operation alone.
 */
int access_add_operation(struct access_reader *reader, const struct access_rows *rows,
	const char *node_type, struct accesses *accesses);

/*
 * Finds the number of the content of the executable that a call launches.  0: beyond the limits;
 * access_add_named() then adds the memory that the launch names.
 */
int access_find_version(struct access_reader *reader, int64_t call, const struct access_rows *rows,
	uint64_t *number);
void access_copy_version(struct access_reader *reader, uint64_t number, struct accesses *accesses);
void access_add_named(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses);

#endif
