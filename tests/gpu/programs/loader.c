/* SPDX-License-Identifier: Apache-2.0 */
/* loader LIBRARY local|deepbind: runs plugin_run() of a library that is loaded in that way. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int deep = argc > 2 && !strcmp(argv[2], "deepbind");
	void *library = argc > 2
		? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0))
		: NULL;
	int (*run)(int);

	if (!library) {
		fprintf(stderr, "loader: %s\n", argc > 2 ? dlerror() : "LIBRARY local|deepbind");
		return 2;
	}
	*(void **)&run = dlsym(library, "plugin_run");
	printf("%d\n", run ? run(3) : -1);
	return 0;
}
