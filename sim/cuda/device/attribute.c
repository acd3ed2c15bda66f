/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of streams and kernel nodes are stored and returned; none has an effect. */
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_state.h"

struct attribute {
	struct attribute *next;
	int id;
	CUlaunchAttributeValue value;
};

static bool known(int id)
{
	return id > CU_LAUNCH_ATTRIBUTE_IGNORE &&
		id <= CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING;
}

CUresult attribute_set(struct attribute **list, int id, const CUlaunchAttributeValue *value)
{
	struct attribute *a = *list;

	if (!known(id))
		return CUDA_ERROR_INVALID_VALUE;
	while (a && a->id != id)
		a = a->next;
	if (!a) {
		a = must_realloc(NULL, sizeof(*a));
		a->next = *list;
		a->id = id;
		*list = a;
	}
	a->value = *value;
	return CUDA_SUCCESS;
}

CUresult attribute_get(const struct attribute *list, int id, CUlaunchAttributeValue *value)
{
	if (!known(id))
		return CUDA_ERROR_INVALID_VALUE;
	while (list && list->id != id)
		list = list->next;
	if (list)
		*value = list->value;
	else
		memset(value, 0, sizeof(*value));
	return CUDA_SUCCESS;
}

CUresult attributes_copy(struct attribute **to, const struct attribute *from)
{
	CUresult result = CUDA_SUCCESS;

	for (; from && !result; from = from->next)
		result = attribute_set(to, from->id, &from->value);
	return result;
}

void attributes_free(struct attribute **list)
{
	while (*list) {
		struct attribute *next = (*list)->next;

		free(*list);
		*list = next;
	}
}

CUresult do_cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		stream->priority = value->priority;
	return attribute_set(&stream->attributes, (int)id, value);
}

CUresult do_cuStreamGetAttribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue *value)
{
	struct stream *stream = stream_get(handle);
	CUresult result;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	result = attribute_get(stream->attributes, (int)id, value);
	if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value->priority = stream->priority;
	return result;
}

CUresult do_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	struct stream *to = stream_get(dst), *from = stream_get(src);

	if (!to || !from)
		return CUDA_ERROR_INVALID_HANDLE;
	return attributes_copy(&to->attributes, from->attributes);
}
