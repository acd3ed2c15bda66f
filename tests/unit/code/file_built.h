/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFENCE_TESTS_FILE_BUILT_H
#define CUFENCE_TESTS_FILE_BUILT_H

/* A file that was built for the tests, of 4 MiB at most; NULL if it was not. */
static inline void *read_built(const char *name, size_t *size)
{
	char path[4096], *data;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/%s", getenv("TEST_BUILD"), name);
	file = fopen(path, "rb");
	if (!file)
		return NULL;
	data = malloc(4 << 20);
	assert_non_null(data);
	*size = fread(data, 1, 4 << 20, file);
	fclose(file);
	return data;
}

#endif
