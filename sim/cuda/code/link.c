/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linker: PTX texts are concatenated and loaded as one.  Other code cannot be linked here:
 * without PTX, the result is the last input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_state.h"

#define JIT_TIME 1000000 /* plausible for a small kernel, ns */

struct link {
	char *text, *code;
	size_t text_size, code_size;
};

static struct link *link_get(CUlinkState handle)
{
	return object_check(handle, OBJECT_LINK) ? (struct link *)handle : NULL;
}

static void append(char **to, size_t *size, const void *data, size_t more)
{
	*to = must_realloc(*to, *size + more + 1);
	memcpy(*to + *size, data, more);
	*size += more;
	(*to)[*size] = '\0';
}

CUresult do_cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values,
	CUlinkState *state)
{
	struct link *link;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	link = object_new(OBJECT_LINK, sizeof(*link));
	if (!link)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*state = (CUlinkState)link;
	return CUDA_SUCCESS;
}

CUresult do_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
	const char *name, unsigned int count, CUjit_option *options, void **values)
{
	struct link *link = link_get(state);

	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !size || (unsigned int)type > CU_JIT_INPUT_LIBRARY)
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_JIT_INPUT_PTX) {
		append(&link->text, &link->text_size, data, strnlen(data, size));
	} else {
		link->code_size = 0;
		append(&link->code, &link->code_size, data, size);
	}
	return CUDA_SUCCESS;
}

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rbe");
	char *content = NULL, part[4096];
	size_t got;

	if (!file)
		return NULL;
	while ((got = fread(part, 1, sizeof(part), file)))
		append(&content, size, part, got);
	fclose(file);
	return content;
}

CUresult do_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
	unsigned int count, CUjit_option *options, void **values)
{
	CUresult result;
	size_t size = 0;
	char *content;

	if (!link_get(state))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	content = read_file(path, &size);
	if (!content)
		return CUDA_ERROR_FILE_NOT_FOUND;
	result = do_cuLinkAddData_v2(state, type, content, size, path, count, options, values);
	free(content);
	return result;
}

/* The output is freed with the state. */
CUresult do_cuLinkComplete(CUlinkState state, void **code, size_t *size)
{
	struct link *link = link_get(state);

	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!code || (!link->text && !link->code))
		return CUDA_ERROR_INVALID_VALUE;
	thread_self()->overhead += JIT_TIME;
	*code = link->text ? link->text : link->code;
	if (size)
		*size = link->text ? link->text_size + 1 : link->code_size;
	return CUDA_SUCCESS;
}

CUresult do_cuLinkDestroy(CUlinkState state)
{
	struct link *link = link_get(state);

	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	free(link->text);
	free(link->code);
	object_free(link);
	return CUDA_SUCCESS;
}
