/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of patch_line.h for pools: the release threshold, 0 by default, is how much memory a
 * pool keeps at a synchronization (CUDA programming guide, "Physical page caching behavior").
 */
#ifndef CUFENCE_PATCH_POOL_H
#define CUFENCE_PATCH_POOL_H

#include "patch_line.h"

/* The line after that which gets the pool of an allocation's line, count: none is known to. */
size_t patch_pool_line(const struct patch_place *place);

/* As patch_line(), for that line. */
const char *patch_keep_pool(const struct patch_place *place, char **changed);

#endif
