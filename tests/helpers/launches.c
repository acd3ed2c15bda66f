/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 4000 launches of five kernels with sixteen words, of which none, a few or all differ from the
 * previous launch.  Prints the words of each launch like column words of the database: offset and
 * value, little-endian.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LAUNCHES 4000
#define KERNELS 5
#define WORDS 16

static uint32_t next(void)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static void print_bytes(const void *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		printf("%02X", ((const unsigned char *)at)[i]);
}

int main(void)
{
	static const unsigned changes[] = { 0, 0, 1, 2, 6, 9, WORDS };
	static uint64_t word[KERNELS][WORDS];
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *values[WORDS];
	int (*begin)(unsigned),
		(*launch)(const void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			unsigned, void *, void **, void **);

	if (!library)
		return 1;
	*(void **)&begin = dlsym(library, "cuInit");
	*(void **)&launch = dlsym(library, "cuLaunchKernel");
	if (!begin || !launch || begin(0))
		return 1;
	for (unsigned i = 0; i < LAUNCHES; i++) {
		unsigned kernel = next() % KERNELS;
		unsigned count = changes[next() % (sizeof(changes) / sizeof(*changes))];

		while (count--)
			word[kernel][count == WORDS - 1 ? count : next() % WORDS] = next();
		for (uint32_t j = 0, offset = 0; j < WORDS; j++, offset += 8) {
			values[j] = &word[kernel][j];
			print_bytes(&offset, sizeof(offset));
			print_bytes(values[j], sizeof(word[kernel][j]));
		}
		putchar('\n');
		if (launch(&word[kernel], 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL))
			return 1;
	}
	return 0;
}
