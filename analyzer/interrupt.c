/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"

#include <stddef.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

void interrupt_hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

void interrupt_restore(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}

int interrupt_pending(void)
{
	sigset_t set;

	if (sigpending(&set))
		return 0;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigismember(&set, signals[i]))
			return 1;
	return 0;
}
