/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_like VERSION KIND: a program that looks like CPython of that version (hexadecimal) to the
 * recorder, but whose structures are invalid in some way, and calls CUDA; for tests/cli/python.sh.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long Py_Version;
uint64_t _PyRuntime[64];
char PyCode_Type[512], PyUnicode_Type[512], PyBytes_Type[512];
void *PyGILState_GetThisThreadState(void);
int _Py_IsFinalizing(void);
int Py_IsFinalizing(void);

static void *thread;

void *PyGILState_GetThisThreadState(void)
{
	return thread;
}

int _Py_IsFinalizing(void)
{
	return 0;
}

int Py_IsFinalizing(void)
{
	return 0;
}

/* Words that all point to themselves: every pointer is readable. */
static void *itself(void)
{
	static uintptr_t words[1024];

	for (unsigned i = 0; i < 1024; i++)
		words[i] = (uintptr_t)words;
	return words;
}

/* Words that all point to unmapped memory. */
static void *nowhere(void)
{
	static uintptr_t words[1024];

	for (unsigned i = 0; i < 1024; i++)
		words[i] = 0x7ffffff000 + 8 * i;
	return words;
}

/* A code object's type is valid, the objects it refers to are not. */
static void *half(void)
{
	uintptr_t *words = itself();

	words[1] = (uintptr_t)PyCode_Type;
	return words;
}

int main(int argc, char **argv)
{
	int (*init)(unsigned int);
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (argc < 3 || !library)
		return 2;
	Py_Version = strtoul(argv[1], NULL, 16) << 16;
	memcpy(_PyRuntime, "xdebugpy", 8);
	_PyRuntime[1] = Py_Version;
	if (!strcmp(argv[2], "itself"))
		thread = itself();
	else if (!strcmp(argv[2], "nowhere"))
		thread = nowhere();
	else if (!strcmp(argv[2], "half"))
		thread = half();
	else if (!strcmp(argv[2], "wild"))
		thread = (void *)0x7ffffff000;
	else if (!strcmp(argv[2], "free"))
		_PyRuntime[2] = 1;
	else if (strcmp(argv[2], "none"))
		return 2;
	*(void **)&init = dlsym(library, "cuInit");
	return init(0) ? 1 : 0;
}
