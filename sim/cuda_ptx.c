/* SPDX-License-Identifier: Apache-2.0 */
/* Modules given as PTX text only (NVRTC, Triton): the names of their entry points. */
#include <string.h>

#include "cuda_module.h"

static bool is_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		c == '_' || c == '$';
}

void ptx_functions(struct module *module, const char *text, size_t size)
{
	static const char keyword[] = ".entry";
	const char *end = text + size, *p = text;

	while ((p = memmem(p, (size_t)(end - p), keyword, sizeof(keyword) - 1))) {
		const char *name;

		for (p += sizeof(keyword) - 1; p < end && (*p == ' ' || *p == '\t'); p++)
			;
		for (name = p; p < end && is_name(*p); p++)
			;
		if (p > name)
			module_add_function(module, name, (size_t)(p - name));
	}
}
