/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libgcc_s.so.1 that forwards to the library named by REAL_LIBGCC and counts lookups of frame
 * descriptions, one per unwound frame; prints the count at the end.
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
