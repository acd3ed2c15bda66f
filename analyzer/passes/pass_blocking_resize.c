/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-resize: memory that the driver keeps for all kernels was made larger, which needs an
 * idle device: a new limit for stacks, the printf buffer or the heap, and a launch that needs more
 * local memory than any before it or is the first that prints (measured; of cudaDeviceSetLimit
 * NVIDIA says what the limits are for, not that it waits).
 */
#include "kinds.h"
#include "pass_waits.h"
#include "print.h"

/*
 * A launch that loaded its kernel waits as well: that is lazy loading.  Up to the first explicit
 * wait of its context a program warms up, on purpose or not.
 */
#define RESIZED \
	IS_LAUNCH("t") " AND w.kind = 'internal' " \
	"AND NOT EXISTS (SELECT 1 FROM overhead v WHERE v.call = w.call " \
	" AND v.kind IN ('lazy_loading', 'queue_full')) " \
	"AND EXISTS (SELECT 1 FROM call e JOIN call_type et ON et.id = e.type " \
	" WHERE e.id < w.call AND e.process = c.process AND NOT et.runtime " \
	" AND " IS_EXPLICIT_WAIT("et") " " \
	" AND e.context IS c.context)"

static int run(struct db *db, struct findings *findings)
{
	return pass_add_waits(db, findings, RULE_blocking_resize,
		IS_OF_FAMILY("t", "limit") " OR (" RESIZED ")");
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	const char *kernel;

	if (pass_say_waited(words, worst, out))
		return -1;
	kernel = words_kernel(words, worst->call);
	if (*kernel)
		print(out,
			": '%s' needs more local memory than any before, or is the first "
			"that prints",
			kernel);
	return 0;
}

const struct pass pass_blocking_resize = { .run = run, .say = say };
