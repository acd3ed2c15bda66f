/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of calls.def say with more than an expression: fields of the structures that
 * describe copies, graph nodes and textures.  All of them survive NULL and give 0 for what does
 * not apply; none follows a pointer inside a structure but those that the driver reads as well.
 */
#ifndef CUFENCE_FIELDS_H
#define CUFENCE_FIELDS_H

#include <cuda.h>
#include <stdint.h>

#include "calls.h"

/*
 * A copy's ends as first bytes (offsets applied) or, in an array, as position; pitches in bytes,
 * heights in rows; width, height and depth of what is moved.  CUDA_MEMCPY3D_PEER has the layout
 * of CUDA_MEMCPY3D but for the contexts.
 */
uint64_t copy_2d(const CUDA_MEMCPY2D *copy, enum field_kind field);
uint64_t copy_3d(const CUDA_MEMCPY3D *copy, enum field_kind field);

/* Of a memset node: dst, value, bytes, dst_pitch, width (bytes), height. */
uint64_t set_node(const CUDA_MEMSET_NODE_PARAMS *node, enum field_kind field);

/* Of a node of any type, whatever it has. */
uint64_t node_field(const CUgraphNodeParams *node, enum field_kind field);

/* Parameters of a kernel node as cuLaunchKernel has them; NULL for others. */
void **node_values(const CUgraphNodeParams *node);
void **node_extra(const CUgraphNodeParams *node);

/* What a node has several of, FIELD_more words: body graphs, semaphores, memory operations. */
const void *node_list(const CUgraphNodeParams *node);

/* The memory, or the array, behind a texture or surface. */
uint64_t resource_ptr(const CUDA_RESOURCE_DESC *resource);
uint64_t resource_bytes(const CUDA_RESOURCE_DESC *resource);
uint64_t resource_array(const CUDA_RESOURCE_DESC *resource);

/* Which page of which file is mapped there, to be shared; 0: none, or module_file_page() does not
 * know. */
uint64_t file_page(const void *address);

/* image_hash() of a name, 0: of none. */
uint64_t name_hash(const char *name);

/*
 * The size of a variable after a call that found it: what the call said in *bytes, or, where the
 * program did not ask for that (cudart knows it from the program), what the driver says now, in
 * *own.  NULL: it is not known.
 */
const size_t *variable_bytes(enum call_id call, const size_t *bytes, const void *of,
	const char *name, size_t *own);

#endif
