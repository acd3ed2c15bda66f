/* SPDX-License-Identifier: Apache-2.0 */
#include "report_internal.h"

#include "report_facts.h"
#include "print.h"

/*
 * Settings and their effects on the report.  value is a GLOB pattern; only_if is a query that gives
 * 1 if the setting matters, with ?1 as the value; NULL: it always matters.
 */
static const struct {
	const char *name, *value, *only_if, *meaning;
} settings[] = {
	/* "CUDA Environment Variables", CUDA C++ Programming Guide. */
	{ "CUDA_LAUNCH_BLOCKING", "[^0]*", NULL,
		"every launch waits for its kernel, so nothing overlaps" },
	{ "CUDA_MODULE_LOADING", "EAGER", NULL, "kernels are loaded at the start" },
	{ "CUDA_DEVICE_MAX_CONNECTIONS", "*",
		"SELECT count(DISTINCT stream) > CAST(?1 AS INTEGER) FROM stream_use",
		"more streams than that share queues, and can wait for each other there" },
	{ "CUDA_FORCE_PTX_JIT", "[^0]*", NULL, "kernels are compiled when they are loaded" },
	{ "CUDA_CACHE_DISABLE", "[^0]*", NULL, "what is compiled at run time is not kept" },
	{ "PYTORCH_NO_CUDA_MEMORY_CACHING", "1", NULL,
		"every tensor is a cudaMalloc and a cudaFree" },
	{ "PYTORCH_CUDA_ALLOC_CONF", "*backend:cudaMallocAsync*", NULL,
		"tensors are allocated and freed in stream order" },
	{ "PYTORCH_ALLOC_CONF", "*backend:cudaMallocAsync*", NULL,
		"tensors are allocated and freed in stream order" },
};

const char report_notes_sql[] =
	/* cuCtxGetFlags; CU_CTX_SCHED_BLOCKING_SYNC is 4 of the mask 7. */
	"SELECT DISTINCT 'waits sleep (blocking-sync scheduling), and end tens of microseconds'"
	" || ' after what they wait for' FROM context WHERE flags & 7 = 4 UNION ALL "
	"SELECT DISTINCT 'device ' || ordinal || ' is shared by MPS: others'' work may hold this'"
	" || ' program''s' FROM device_attribute WHERE name = 'mps_enabled' AND value = 1"
	" UNION ALL "
	/* What NVML said of other processes during the run. */
	"SELECT DISTINCT CASE seen"
	" WHEN 'computing' THEN 'other programs computed on device ' || device || ' for '"
	"  || iif(busy, busy || ' %', 'less than 1 %') || ' of the run ('"
	"  || processes || iif(processes = 1, ' process)', ' processes)')"
	" WHEN 'memory' THEN processes || iif(processes = 1, ' other process has',"
	"  ' other processes have') || ' memory on device ' || device || ', and computed nothing'"
	" ELSE 'not known whether other programs used device ' || device || ': ' || why END"
	" FROM other_use WHERE seen <> 'none' UNION ALL "
	"SELECT DISTINCT 'device ' || ordinal || ' is a part of a GPU (MIG)' FROM device"
	" WHERE name LIKE '% MIG %' UNION ALL "
	"SELECT DISTINCT 'device ' || ordinal || ' shares the host''s memory: copies move nothing'"
	" || ' far' FROM device_attribute WHERE name = 'integrated' AND value = 1 UNION ALL "
	/* "API synchronization behavior", CUDA Runtime API: address translation services. */
	"SELECT DISTINCT 'device ' || ordinal || ' uses the host''s page tables: copies to'"
	" || ' pageable memory may return before they are done' FROM device_attribute"
	" WHERE name = 'pageable_memory_access_uses_host_page_tables' AND value = 1 UNION ALL "
	/* Why lines of scripts are missing. */
	"SELECT DISTINCT 'no lines of scripts are shown: ' || substr(value, 7) FROM property"
	" WHERE name = 'python.frames' AND value GLOB 'none: *' UNION ALL "
	/* Older recorders' guards watch no managed memory. */
	"SELECT 'host accesses to ' || iif(pinned, 'pinned', '')"
	" || iif(pinned AND managed, ' and ', '') || iif(managed, 'managed', '')"
	" || ' memory were not watched' || iif(pinned, '; run --guard-host reports those to'"
	" || ' pinned memory while a copy is pending', '') FROM (SELECT"
	"  max(memory = 'managed' AND process NOT IN (SELECT process FROM property"
	"   WHERE name = 'guard.managed')) AS managed, max(memory IN ('pinned', 'registered')"
	"   AND process NOT IN (SELECT process FROM property WHERE name = 'guard')) AS pinned"
	"  FROM allocation) WHERE pinned OR managed UNION ALL "
	"SELECT DISTINCT 'managed memory was not guarded: ' || value FROM property"
	" WHERE name = 'guard.managed' AND value <> 'on' UNION ALL "
	"SELECT DISTINCT 'host memory was not guarded: ' || value FROM property"
	" WHERE name = 'guard' AND value <> 'on' UNION ALL "
	/* The last word may have been written twice; counts only grow. */
	"SELECT 'the guard left out host memory of ' || sum(n) || iif(sum(n) = 1, ' copy: ',"
	" ' copies: ') || group_concat(n || ' ' || why, ', ')"
	" FROM (SELECT column2 AS why, sum(n) AS n FROM"
	" (SELECT name, max(CAST(value AS INTEGER)) AS n FROM property"
	"  WHERE name GLOB 'guard.*' GROUP BY process, name) JOIN (VALUES"
	" ('guard.part_of_page', 'in pages that it shares'),"
	" ('guard.unknown', 'not known to be pinned, or moved by the processor'),"
	" ('guard.refused', 'that the kernel refused to protect'),"
	" ('guard.blocked', 'whose thread blocks SIGSEGV'),"
	" ('guard.nodes', 'in graphs with too many or unknown nodes'),"
	" ('guard.captured', 'during a capture'), ('guard.batched', 'of batches'),"
	" ('guard.crowded', 'opened early, as there were too many')) AS reason"
	" ON name = column1 GROUP BY column2) HAVING sum(n) UNION ALL "
	"SELECT 'the guard does not see the copies of graphs, launched ' || sum(n) || ' times'"
	" FROM (SELECT max(CAST(value AS INTEGER)) AS n FROM property"
	"  WHERE name = 'guard.graphs' GROUP BY process) HAVING sum(n) UNION ALL "
	/* Linked into the program, it makes its calls itself (doc/RANKS.md). */
	"SELECT 'NCCL ran kernels, and no call of it was seen: it may be linked into the program;'"
	" || ' NCCL_PROFILER_PLUGIN=libcufence.so shows them (NCCL 2.28 and later)'"
	" FROM kernel WHERE name GLOB '*ncclDevKernel*' AND NOT EXISTS (SELECT 1 FROM collective)"
	" GROUP BY 1 UNION ALL "
	"SELECT 'savings are of ' || r.turns || ' of ' || l.turns || ' turns' ||"
	" iif((SELECT count(*) FROM process) > 1, ' of pid ' || p.pid, '')"
	" || iif(r.samples > 1, ', in ' || r.samples || ' samples spread over the loop', '')"
	" || ', extrapolated: the run is too long to be replayed' FROM replay r"
	" JOIN loop l ON l.process = r.process JOIN process p ON p.id = r.process"
	" WHERE r.turns NOT NULL UNION ALL "
	"SELECT 'savings' || iif((SELECT count(*) FROM process) > 1, ' of pid ' || p.pid, '') ||"
	" ' were searched with ' || r.replays || ' replays, and not to the end'"
	" || CASE (SELECT count(*) FROM finding f WHERE f.process = r.process AND f.saving"
	"  AND f.saving_low IS NULL) WHEN 0 THEN '' WHEN 1 THEN ': one saving is an upper bound'"
	"  ELSE ': some savings are upper bounds' END"
	" FROM replay r JOIN process p ON p.id = r.process WHERE r.cut";

static int applies(struct db *db, const char *only_if, const char *value)
{
	sqlite3_stmt *q = only_if ? db_prepare(db, only_if) : NULL;
	int yes = !only_if;

	if (q && !db_bind(q, "s", value) && db_step(q) > 0)
		yes = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	return yes;
}

const char *report_setting_meaning(struct db *db, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!sqlite3_stricmp(name, settings[i].name) &&
			!sqlite3_strglob(settings[i].value, value) &&
			applies(db, settings[i].only_if, value))
			return settings[i].meaning;
	return NULL;
}

static int print_environment(struct db *db, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_SETTINGS);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *meaning = (const char *)sqlite3_column_text(q, 2);

		print(out, "    set      %s=%s%s%s\n", (const char *)sqlite3_column_text(q, 0),
			(const char *)sqlite3_column_text(q, 1), meaning ? ": " : "",
			meaning ? meaning : "");
	}
	sqlite3_finalize(q);
	return step;
}

int report_settings(struct db *db, FILE *out)
{
	sqlite3_stmt *q = NULL;
	int step = -1;

	if (print_environment(db, out))
		return -1;
	q = report_fact(db, FACT_NOTES);
	while (q && (step = db_step(q)) > 0)
		print(out, "    note: %s\n", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return step;
}
