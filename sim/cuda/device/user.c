/* SPDX-License-Identifier: Apache-2.0 */
/* User objects of graphs: reference-counted, destroyed on the host function thread. */
#include <stdlib.h>

#include "cuda_calls.h"
#include "cuda_graph.h"

struct user {
	void *data;
	CUhostFn destroy;
	unsigned int references;
};

struct user_use {
	struct user_use *next;
	struct user *user;
	unsigned int references;
};

static struct user *user_get(CUuserObject handle)
{
	return object_check(handle, OBJECT_USER) ? (struct user *)handle : NULL;
}

/* The destructor runs on the host function thread; it must not call CUDA either. */
static void user_put(struct user *user, unsigned int count)
{
	struct op *op;

	user->references -= count;
	if (user->references)
		return;
	op = op_new(OP_HOST, context_current() ? context_current()->legacy : NULL, 0);
	op->function = user->destroy;
	op->data = user->data;
	op->loose = true;
	if (op->stream)
		op_submit(op);
	op_put(op);
	object_free(user);
}

static CUresult use_add(struct graph *graph, struct user *user, unsigned int count)
{
	struct user_use *use = must_realloc(NULL, sizeof(*use));

	*use = (struct user_use){ graph->users, user, count };
	graph->users = use;
	return CUDA_SUCCESS;
}

CUresult users_copy(struct graph *to, const struct graph *from)
{
	for (const struct user_use *use = from->users; use; use = use->next) {
		use->user->references++;
		use_add(to, use->user, 1);
	}
	return CUDA_SUCCESS;
}

void users_release(struct graph *graph)
{
	while (graph->users) {
		struct user_use *use = graph->users;

		graph->users = use->next;
		user_put(use->user, use->references);
		free(use);
	}
}

CUresult do_cuUserObjectCreate(CUuserObject *handle, void *data, CUhostFn destroy,
	unsigned int references, unsigned int flags)
{
	struct user *user;

	if (!handle || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	user = object_new(OBJECT_USER, sizeof(*user));
	if (!user)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*user = (struct user){ data, destroy, references };
	*handle = (CUuserObject)user;
	return CUDA_SUCCESS;
}

CUresult do_cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
	struct user *user = user_get(handle);

	if (!user || !count)
		return CUDA_ERROR_INVALID_VALUE;
	user->references += count;
	return CUDA_SUCCESS;
}

CUresult do_cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
	struct user *user = user_get(handle);

	if (!user || !count || count > user->references)
		return CUDA_ERROR_INVALID_VALUE;
	user_put(user, count);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count,
	unsigned int flags)
{
	struct graph *graph = graph_get(graph_handle);
	struct user *user = user_get(handle);

	if (!graph || !user || !count || flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		user->references += count;
	return use_add(graph, user, count);
}

CUresult do_cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count)
{
	struct graph *graph = graph_get(graph_handle);
	struct user *user = user_get(handle);

	for (struct user_use **link = graph ? &graph->users : NULL; link && *link;
		link = &(*link)->next) {
		struct user_use *use = *link;

		if (use->user != user || use->references < count)
			continue;
		use->references -= count;
		if (!use->references) {
			*link = use->next;
			free(use);
		}
		user_put(user, count);
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}
