/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another library has functions of the driver's names: two_drivers LIBRARY.  Who asks for those
 * gets them, and calls of the driver's own stay what they are.
 */
#include "driver_calls.h"

int main(int argc, char **argv)
{
	void *other = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*init)(unsigned);

	cuda_find();
	printf("%d", cuda_begin());
	*(void **)&init = other ? dlsym(other, "cuInit") : NULL;
	if (!init)
		return 2;
	/* There are no such flags, and only one of the two minds. */
	printf(" %d %d\n", cuda.init(77) != 0, init(77) != 0);
	return 0;
}
