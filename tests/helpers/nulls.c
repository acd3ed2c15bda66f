/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes every call of calls.def with all arguments zero, on a libcuda that accepts them
 * (libevery.c), and prints their number.  Sixteen words cover any row's parameters, including those
 * by value, in registers and on the stack.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*any_call)(long, long, long, long, long, long, long, long, long, long, long, long,
	long, long, long, long);

static const char *const names[] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) #symbol,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
#symbol, #symbol #suffix,
#include "calls.def"
};

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	unsigned made = 0;

	for (size_t i = 0; library && i < sizeof(names) / sizeof(names[0]); i++) {
		any_call call;

		*(void **)&call = dlsym(library, names[i]);
		if (!call)
			continue;
		call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
		made++;
	}
	printf("%u\n", made);
	return !library;
}
