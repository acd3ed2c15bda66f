/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call paths of a process as a tree: a node is a place in a function, reached from the place
 * of its parent.  The program's own frames come first, the outermost one at the top, then those of
 * libraries: a trace keeps all frames of the program's, but only the innermost ones of packages.
 * A trace keeps a limited number of frames of scripts: a path that has as many may lack its
 * outermost ones and is continued by another path through its outermost function.  A leaf is a
 * site.
 */
#ifndef CUFENCE_LOOP_PATHS_H
#define CUFENCE_LOOP_PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "map.h"

struct path_node {
	uint32_t parent;      /* 0: the root */
	uint32_t level;       /* of the root: 0 */
	uint32_t site;        /* a site that has this frame, or the leaf's */
	int32_t depth;        /* of the frame in that site; -1: it has none */
	uint8_t is_leaf;      /* a site: its calls */
	uint8_t is_own;       /* a frame of the program's script */
	uint8_t is_below_own; /* it or a node above it is */
	int32_t loop;         /* line of the loop statement around its line; 0: none is known */
};

struct loop_paths {
	struct path_node *node; /* [0]: the root; parents come before children */
	size_t count;
	uint32_t *leaf; /* by site, 0: none */
	size_t leaf_end;
	struct map children;  /* hash of parent and address -> node */
	struct map functions; /* code of a script -> its first node */
};

/* Returns 0, or -1 after a message.  loop_paths_release() follows in both cases. */
int loop_paths_read(struct loop_paths *paths, struct db *db, uint32_t process);
/* Returns the leaf of a site, which is made if it is new. */
uint32_t loop_paths_leaf(struct loop_paths *paths, uint32_t site);
void loop_paths_release(struct loop_paths *paths);

/* Whether the path of a node leads through another one. */
static inline int loop_paths_is_below(const struct loop_paths *paths, uint32_t node, uint32_t other)
{
	while (paths->node[node].level > paths->node[other].level)
		node = paths->node[node].parent;
	return node == other;
}

/*
 * The frame whose line stands for turns that begin at a node, 0: none.  In a script, and below
 * another node: the innermost one at or above the node whose line is in a loop of its function;
 * else the innermost one of the program's.
 */
uint32_t loop_paths_find_line(const struct loop_paths *paths, uint32_t node, uint32_t below);

/* Writes that line; node 0: the text of the site.  Returns 0, or -1 after a message. */
int loop_paths_name(const struct loop_paths *paths, struct db *db, uint32_t node, uint32_t site,
	char *text, size_t size);

#endif
