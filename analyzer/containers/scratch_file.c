/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory.h"

static int open_in(const char *folder)
{
	char *path = xprintf("%s/cufence.XXXXXX", folder);
	int file = mkostemp(path, O_CLOEXEC);

	if (file >= 0)
		unlink(path);
	free(path);
	return file;
}

int scratch_file_open(const char **folder)
{
	static const char *const usual[] = { "/var/tmp", "/tmp" };
	int file = -1;

	*folder = getenv("TMPDIR");
	if (*folder && **folder)
		return open_in(*folder);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual) && file < 0; i++)
		file = open_in(*folder = usual[i]);
	return file;
}
