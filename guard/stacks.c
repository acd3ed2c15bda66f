/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>

#include "guard_internal.h"
#include "system.h"

#define STACKS 8 /* faults handled at a time; further ones wait */
#define STACK_BYTES 65536u

static char *memory;
static _Atomic int *taken; /* by stack; a page that a fork wipes */

int stacks_start(void)
{
	void *stacks = system_map(STACKS * STACK_BYTES, 0, -1, 0);
	void *flags = system_map(PAGE, 0, -1, 0);

	if (stacks == MAP_FAILED || flags == MAP_FAILED)
		return -1;
	system_advise(flags, PAGE, MADV_WIPEONFORK);
	memory = stacks;
	taken = flags;
	return 0;
}

static unsigned take(void)
{
	for (unsigned i = 0;; i = (i + 1) % STACKS) {
		if (!atomic_exchange_explicit(&taken[i], 1, memory_order_acquire))
			return i;
		if (i == STACKS - 1)
			syscall(SYS_sched_yield);
	}
}

void stacks_call(void (*function)(void *arg), void *arg)
{
	unsigned number;
	uint64_t before;
	char *top;

	signals_block(&before);
	number = take();
	top = memory + (number + 1) * STACK_BYTES;
	machine_on_stack(top, function, arg);
	atomic_store_explicit(&taken[number], 0, memory_order_release);
	signals_restore(&before);
}
