/* SPDX-License-Identifier: Apache-2.0 */
/* within LIBRARY FUNCTION: loads a library as Python does, and prints what its function returns. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*function)(void);

	*(void **)&function = library ? dlsym(library, argv[2]) : NULL;
	if (!function)
		return 2;
	printf("%d\n", function());
	return 0;
}
