/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_claims FILE BLOCKS THREADS [ARCH] <lines of "KERNEL N C": what the interpreter says that a
 * kernel f(float *a, int n, int c) stores to a, as tests/fuzz/claims reads it: "KERNEL N C", then
 * for each claim LOW HIGH RUN EXACT and its strides, COUNTxBYTES; "more" where that is not all.
 * The file is PTX, or a cubin for ARCH.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower.h"

#define FILE_LIMIT (64 << 20)

/* PTX ends with a 0. */
static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *text = file ? calloc(1, FILE_LIMIT + 1) : NULL;

	*size = text ? fread(text, 1, FILE_LIMIT, file) : 0;
	if (file)
		fclose(file);
	return text;
}

static void print_claim(const struct ptx_claim *claim)
{
	if (claim->direction != PTX_STORE)
		return;
	printf(" | %lld %lld %lld %d", (long long)claim->low, (long long)claim->high,
		(long long)claim->run, claim->exact);
	for (unsigned i = 0; i < claim->stride_count; i++)
		printf(" %lldx%lld", (long long)claim->stride[i].count,
			(long long)claim->stride[i].bytes);
}

static void print_kernel(struct ptx_module *module, const char *name, const int32_t scalar[2],
	const uint32_t shape[2])
{
	uint8_t value[16] = { 0 }, state[16];
	struct ptx_launch launch = { .grid = { shape[0], 1, 1 },
		.block = { shape[1], 1, 1 },
		.size = sizeof(value),
		.value = value,
		.state = state };
	long number = ptx_find(module, name, strlen(name));
	struct ptx_access access;
	int complete;

	memcpy(value + 8, scalar, 8);
	memset(state, PTX_POINTER, 8);
	memset(state + 8, PTX_KNOWN, 8);
	complete =
		number >= 0 && !ptx_interpret(module, (size_t)number, &launch, PTX_STEPS, &access);
	printf("%s %d %d%s", name, scalar[0], scalar[1],
		complete && access.complete ? "" : " more");
	for (size_t i = 0; complete && i < access.count; i++)
		print_claim(&access.claim[i]);
	puts("");
	if (complete)
		ptx_access_release(&access);
}

int main(int argc, char **argv)
{
	char error[IMAGE_ERROR_SIZE], name[32];
	struct ptx_module *module;
	int32_t scalar[2];
	size_t size;
	char *text;

	if (argc < 4)
		return 2;
	text = read_file(argv[1], &size);
	if (text && argc > 4)
		module = machine_open(text, size, (unsigned)atoi(argv[4]), error);
	else
		module = text ? ptx_open(text, size, error) : NULL;
	if (!module)
		return 1;
	while (scanf("%31s %d %d", name, &scalar[0], &scalar[1]) == 3)
		print_kernel(module, name, scalar,
			(uint32_t[2]){ (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]) });
	ptx_close(module);
	free(text);
	return 0;
}
