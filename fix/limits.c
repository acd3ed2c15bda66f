/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is set once: limits of the current context, which stay if they are as large already (kernels
 * have at least what they need), and the release threshold of pools.
 */
#include "fix_internal.h"

enum { LIMITS = 3, POOLS = 16 };

/* Of the last call that set it, at whatever place. */
static struct {
	_Atomic uint64_t context, value;
} limit[LIMITS];
static _Atomic uint64_t pool[POOLS];

int limits_have(const struct fixed_call *call)
{
	uint64_t context = (uint64_t)(uintptr_t)fix_context();

	return call->type < LIMITS && context && limit[call->type].context == context &&
		limit[call->type].value >= call->value;
}

void limits_note(const struct fixed_call *call)
{
	if (call->type >= LIMITS)
		return;
	limit[call->type].context = (uint64_t)(uintptr_t)fix_context();
	limit[call->type].value = call->value;
}

void pools_keep(const struct fixed_call *call, struct fix_finding *finding)
{
	CUmemoryPool from = (CUmemoryPool)(uintptr_t)call->pool;
	uint64_t all = UINT64_MAX, none = 0;
	CUdevice device;
	int failed = 0;

	fix.recorder->own_begin();
	if (!from)
		failed = fix.driver.current_device(&device) || fix.driver.pool(&from, device);
	for (unsigned i = 0; i < POOLS && !failed; i++) {
		if (pool[i] == (uint64_t)(uintptr_t)from)
			break;
		none = 0;
		if (!atomic_compare_exchange_strong(&pool[i], &none, (uint64_t)(uintptr_t)from))
			continue;
		failed = fix.driver.set_pool(from, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
		finding->applied += !failed;
		break;
	}
	fix.recorder->own_end();
	if (failed)
		fix_turn_off(finding, FIX_SURPRISE_OWN_CALL, call->id, failed);
}
