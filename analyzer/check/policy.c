/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include <string.h>

#include "scope.h"
#include "walk.h"

const char *const policy_names[POLICIES] = {
	[POLICY_DEFAULT_STREAM] = "default-stream",
	[POLICY_SYNC] = "sync",
	[POLICY_PAGEABLE_COPY] = "pageable-copy",
	[POLICY_FREE] = "free",
	[POLICY_DEVICE_WIDE] = "device-wide",
};

enum policy policy_find(const char *name, size_t length)
{
	int found = 0;

	while (found < POLICIES &&
		(strlen(policy_names[found]) != length ||
			strncmp(policy_names[found], name, length)))
		found++;
	return (enum policy)found;
}

struct collecting {
	sqlite3_stmt *insert;
	unsigned policies;
	int captured;
};

static int collect(void *arg, const struct walk_call *call)
{
	struct collecting *collecting = arg;
	/* cudaFree of memory that was allocated in stream order does not wait. */
	enum scope scope = call->freed_async ? SCOPE_NONE : scope_of(call);
	enum kind_family family = kind_family(call->kind);
	const int broken[POLICIES] = {
		/* Queries and attributes leave a stream as it is. */
		[POLICY_DEFAULT_STREAM] = call->stream && !kind_has(call->kind, K_IDLE) &&
			(call->stream_kind == STREAM_KIND_LEGACY ||
				call->stream_kind == STREAM_KIND_THREAD),
		[POLICY_SYNC] = scope != SCOPE_NONE && !kind_has(call->kind, K_RESOURCE),
		[POLICY_PAGEABLE_COPY] = call_is_copy(call->kind) &&
			(call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE),
		[POLICY_FREE] = scope != SCOPE_NONE &&
			(family == FAMILY_free || family == FAMILY_host_memory),
		/* The runtime loads code for a first use: nobody called that. */
		[POLICY_DEVICE_WIDE] = scope >= SCOPE_CONTEXT && !call->is_lazy_load,
	};

	if (call->captured && !collecting->captured)
		return 0;
	for (int policy = 0; policy < POLICIES; policy++)
		if (broken[policy] && collecting->policies >> policy & 1 &&
			db_run(collecting->insert, "iis", call->id, (int64_t)policy,
				policy_names[policy]))
			return -1;
	return 0;
}

int policy_collect(struct db *db, unsigned policies, int captured)
{
	struct collecting collecting = { .policies = policies, .captured = captured };
	int rc =
		db_exec(db, "CREATE TEMP TABLE breach (call INTEGER, number INTEGER, policy TEXT)");

	if (!rc) {
		collecting.insert = db_prepare(db, "INSERT INTO temp.breach VALUES (?, ?, ?)");
		rc = collecting.insert ? walk(db, collect, &collecting) : -1;
	}
	sqlite3_finalize(collecting.insert);
	return rc;
}
