/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libgcc_s.so.1 that hands on to the one that REAL_LIBGCC names and counts: says at the end how
 * often frame descriptions were asked for: as often as an unwound stack has frames.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long count;

const void *_Unwind_Find_FDE(void *address, void *bases);

const void *_Unwind_Find_FDE(void *address, void *bases)
{
	static const void *(*next)(void *, void *);

	if (!next)
		*(void **)&next =
			dlsym(dlopen(getenv("REAL_LIBGCC"), RTLD_NOW), "_Unwind_Find_FDE");
	count++;
	return next(address, bases);
}

__attribute__((destructor)) static void say(void)
{
	printf("asked %lu\n", count);
}
