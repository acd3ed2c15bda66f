/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose operations are not wanted although CUPTI records them, by correlation id.  Ids count
 * up, so a slot is free long before it is reused.
 */
#ifndef CUFENCE_PASSED_H
#define CUFENCE_PASSED_H

#include <stdatomic.h>
#include <stdint.h>

#define PASSED_SLOTS (1u << 16)
extern _Atomic uint32_t passed[PASSED_SLOTS] __attribute__((visibility("hidden")));

static inline void pass_by(uint32_t correlation)
{
	passed[correlation % PASSED_SLOTS] = correlation;
}

static inline int passed_by(uint32_t correlation)
{
	return correlation && passed[correlation % PASSED_SLOTS] == correlation;
}

/* Ids start anew. */
static inline void passed_forget(void)
{
	for (unsigned i = 0; i < PASSED_SLOTS; i++)
		passed[i] = 0;
}

#endif
