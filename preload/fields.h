/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field values for rows of calls.def that need more than an expression: members of the structures
 * that describe copies, graph nodes and textures.  All functions accept NULL and return 0 for
 * fields that do not apply.  They follow only pointers in structures that the driver follows, too.
 */
#ifndef CUFENCE_FIELDS_H
#define CUFENCE_FIELDS_H

#include <cuda.h>
#include <stdint.h>

#include "calls.h"
#include "older_cuda.h"

/*
 * Operands of a copy as first byte (offsets applied) or, in an array, as position; pitches in
 * bytes, heights in rows; width, height and depth of the copied box.  CUDA_MEMCPY3D_PEER has the
 * layout of CUDA_MEMCPY3D except for the contexts.
 */
uint64_t copy_2d(const CUDA_MEMCPY2D *copy, enum field_kind field);
uint64_t copy_3d(const CUDA_MEMCPY3D *copy, enum field_kind field);

/* For a memset node: dst, value, bytes, dst_pitch, width (bytes), height. */
uint64_t set_node(const CUDA_MEMSET_NODE_PARAMS *node, enum field_kind field);

/* For a node of any type. */
uint64_t node_field(const CUgraphNodeParams *node, enum field_kind field);

/* Parameters of a kernel node as in cuLaunchKernel; NULL for other nodes. */
void **node_values(const CUgraphNodeParams *node);
void **node_extra(const CUgraphNodeParams *node);

/* The list of a node, FIELD_more words: body graphs, semaphores, memory operations. */
const void *node_list(const CUgraphNodeParams *node);

/* The memory or array of a texture or surface. */
uint64_t resource_ptr(const CUDA_RESOURCE_DESC *resource);
uint64_t resource_bytes(const CUDA_RESOURCE_DESC *resource);
uint64_t resource_array(const CUDA_RESOURCE_DESC *resource);

/* The value of a pool's attribute, stored in *own; NULL: none. */
const uint64_t *pool_value(CUmemPool_attribute attribute, const void *value, uint64_t *own);

/*
 * Identifies the shared file page mapped at an address; 0: none, or unknown to module_file_page().
 */
uint64_t file_page(const void *address);

/* image_hash() of a name, 0: NULL. */
uint64_t name_hash(const char *name);

/*
 * Returns the size of a variable after a call that found it: the call's result in *bytes, or, if
 * the program did not request it (cudart knows it), the driver's value, stored in *own.  NULL:
 * unknown.
 */
const size_t *variable_bytes(enum call_id call, const size_t *bytes, const void *of,
	const char *name, size_t *own);

#endif
