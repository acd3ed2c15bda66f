/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <string.h>

static int holds(const char *name, size_t length, const char *part)
{
	size_t size = strlen(part);

	for (size_t i = 0; i + size <= length; i++)
		if (!memcmp(name + i, part, size))
			return 1;
	return 0;
}

static int starts(const char *name, size_t length, const char *part)
{
	return length >= strlen(part) && !memcmp(name, part, strlen(part));
}

enum script_origin script_origin(const char *name, size_t length)
{
	/* Places of code that packages generate: torch.compile, Triton; torch.fx and attrs. */
	static const char *const generated[] = {
		"/torchinductor_",
		"/.triton/",
		"<eval_with_key>",
		"<attrs generated ",
		"<__array_function__ internals>",
		"<@beartype(",
	};

	if (holds(name, length, "/site-packages/") || holds(name, length, "/dist-packages/"))
		return SCRIPT_PACKAGE;
	for (unsigned i = 0; i < sizeof(generated) / sizeof(generated[0]); i++)
		if (holds(name, length, generated[i]))
			return SCRIPT_PACKAGE;
	if (starts(name, length, "<frozen ") || holds(name, length, "/lib/python3") ||
		holds(name, length, "/lib64/python3"))
		return SCRIPT_STANDARD;
	return SCRIPT_OWN;
}
