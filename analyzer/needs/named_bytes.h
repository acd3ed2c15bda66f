/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of allocations that some calls name.  Zero-initialized is empty.
 */
#ifndef CUFENCE_NAMED_BYTES_H
#define CUFENCE_NAMED_BYTES_H

#include "id_map.h"

struct named_bytes {
	struct id_map of; /* struct named_spans, by allocation */
};

/* Adds the bytes from low to high, which is excluded. */
void named_bytes_add(struct named_bytes *named, int64_t allocation, int64_t low, int64_t high);

/*
 * Returns 1 if one of these bytes was added, or lies in a small gap between such bytes where there
 * are too many gaps to keep.
 */
int named_bytes_has(const struct named_bytes *named, int64_t allocation, int64_t low, int64_t high);

void named_bytes_release(struct named_bytes *named);

#endif
