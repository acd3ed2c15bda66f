/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One link of a chain of libraries whose link_length() calls the next one by dlsym(RTLD_NEXT), as
 * preloaded hooks do.  Built twice, as liblink_a.so and liblink_b.so.
 */
#include <dlfcn.h>

int link_length(void);

int link_length(void)
{
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "link_length");

	return next ? 1 + next() : 1;
}
