/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "store.h"

int cmd_load(const struct arguments *arguments)
{
	const char *path = option(arguments, "-o");

	return store_build(path ? path : "cufence.db", arguments->operand, (size_t)arguments->count,
		       NULL)
		? EXIT_TROUBLE
		: 0;
}
