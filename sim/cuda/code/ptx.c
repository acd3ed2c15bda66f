/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of PTX text only (NVRTC, Triton): their entry points and parameters. */
#include <string.h>

#include "cuda_module.h"
#include "ptx.h"

/* CUDA's limit is 4 KiB, 32764 bytes since 12.1: more parameters than this do not occur. */
#define PARAMETERS 1024

static bool is_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		c == '_' || c == '$';
}

static void describe(struct module *module, struct ptx_module *ptx, const char *name, size_t length)
{
	struct image_parameter parameter[PARAMETERS];
	long number = ptx ? ptx_find(ptx, name, length) : -1;
	int count = number < 0 ? -1 : ptx_parameters(ptx, (size_t)number, parameter, PARAMETERS);
	struct image_kernel kernel = { .parameter = parameter };

	if (count < 0 || count > PARAMETERS)
		count = 0;
	if (count)
		kernel.parameter_bytes = parameter[count - 1].offset + parameter[count - 1].size;
	kernel.parameter_count = (uint32_t)count;
	kernel.described = count > 0;
	kernel.prints = number < 0 ? 0 : ptx_prints(ptx, (size_t)number);
	module_add_kernel(module, &kernel, name, length);
}

uint32_t ptx_arch(const char *text, size_t size)
{
	static const char directive[] = ".target sm_";
	const char *end = text + size;
	const char *p = memmem(text, size, directive, sizeof(directive) - 1);
	uint32_t arch = 0;

	if (!p)
		return 0;
	for (p += sizeof(directive) - 1; p < end && *p >= '0' && *p <= '9' && arch < 1000; p++)
		arch = arch * 10 + (uint32_t)(*p - '0');
	return arch;
}

/* For text that cannot be parsed, at least the names are found. */
void ptx_functions(struct module *module, const char *text, size_t size)
{
	static const char keyword[] = ".entry";
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *ptx = ptx_open(text, size, error);
	const char *end = text + size, *p = text;

	while ((p = memmem(p, (size_t)(end - p), keyword, sizeof(keyword) - 1))) {
		const char *name;

		for (p += sizeof(keyword) - 1; p < end && (*p == ' ' || *p == '\t'); p++)
			;
		for (name = p; p < end && is_name(*p); p++)
			;
		if (p > name)
			describe(module, ptx, name, (size_t)(p - name));
	}
	ptx_close(ptx);
}
