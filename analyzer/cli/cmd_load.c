/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "store.h"

int cmd_load(const struct arguments *arguments)
{
	const char *path = option(arguments, "-o");
	struct annotations *annotations;
	int rc = read_annotations(arguments, &annotations);

	if (!rc)
		rc = store_build(path ? path : "cufence.db", arguments->operand,
			(size_t)arguments->count, NULL, NULL, annotations);
	annotations_free(annotations);
	return rc ? EXIT_TROUBLE : 0;
}
