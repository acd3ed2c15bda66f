/* SPDX-License-Identifier: Apache-2.0 */
#include "builtin.h"

#include <string.h>

enum builtin builtin_of(const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum builtin what;
	} known[] = {
		{ "vprintf", BUILTIN_PRINTF },
		{ "__assertfail", BUILTIN_ASSERT },
		{ "__assert_fail", BUILTIN_ASSERT },
		{ "malloc", BUILTIN_HEAP },
		{ "free", BUILTIN_HEAP },
		{ "__cudaCDP2GetParameterBufferV2", BUILTIN_LAUNCH },
		{ "__cudaCDP2LaunchDeviceV2", BUILTIN_LAUNCH },
		{ "cudaGetParameterBufferV2", BUILTIN_LAUNCH },
		{ "cudaLaunchDeviceV2", BUILTIN_LAUNCH },
		{ "cudaGraphLaunch", BUILTIN_LAUNCH },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (length == strlen(known[i].name) && !memcmp(name, known[i].name, length))
			return known[i].what;
	return BUILTIN_NONE;
}
