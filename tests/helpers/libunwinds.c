/* SPDX-License-Identifier: Apache-2.0 */
/* A libgcc_s.so.1 that hands on to the one that REAL_LIBGCC names and counts: says at the end how
 * often the stack was unwound.  It must be compiled to jump there, or its frame is unwound, too. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

static unsigned long count;

static void *real(const char *name)
{
	static void *library;

	if (!library)
		library = dlopen(getenv("REAL_LIBGCC"), RTLD_NOW);
	return library ? dlsym(library, name) : NULL;
}

_Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn visit, void *argument)
{
	_Unwind_Reason_Code (*next)(_Unwind_Trace_Fn, void *);

	*(void **)&next = real("_Unwind_Backtrace");
	count++;
	return next(visit, argument);
}

_Unwind_Word _Unwind_GetIP(struct _Unwind_Context *context)
{
	_Unwind_Word (*next)(struct _Unwind_Context *);

	*(void **)&next = real("_Unwind_GetIP");
	return next(context);
}

_Unwind_Word _Unwind_GetCFA(struct _Unwind_Context *context)
{
	_Unwind_Word (*next)(struct _Unwind_Context *);

	*(void **)&next = real("_Unwind_GetCFA");
	return next(context);
}

__attribute__((destructor)) static void say(void)
{
	printf("unwound %lu\n", count);
}
