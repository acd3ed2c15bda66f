/* SPDX-License-Identifier: Apache-2.0 */
#include "needs.h"

#include <stdlib.h>

#include "ids.h"
#include "launch_words.h"
#include "memory.h"
#include "named_bytes.h"
#include "needs_internal.h"

/* Printed output appears at a wait. */
static const char printers_sql[] = "SELECT kernel FROM kernel_code WHERE prints";

/* A collective of one element is a barrier: its end tells the host that all ranks have come. */
static const char barriers_sql[] = "SELECT launch FROM collective WHERE elements <= 1 AND launch";

/* Devices that access all memory of the host, as by HMM or address translation services. */
#define PAGEABLE_SQL \
	"SELECT process FROM device_attribute WHERE name = 'pageable_memory_access' AND value"

static const char strays_sql[] =
	"SELECT s.id, s.kernel, s.words FROM shape s JOIN kernel k ON k.id = s.kernel "
	"WHERE k.process IN (" PAGEABLE_SQL ")";

/*
 * Libraries through which network cards, files, video encoders and the host access device memory
 * without a CUDA call.  Some come with others that seldom use them: PyTorch and JAX load NVSHMEM
 * and cuFile, NCCL the verbs of InfiniBand.  Next to their carrier these count once a call of CUDA
 * was made by them, as NVSHMEM and cuFile need to get at any memory.
 */
static const char others_sql[] =
	/* Patterns of the last part of a path; carrier NULL: it comes with none. */
	"WITH library (file, carrier) AS (VALUES"
	" ('libmpi.so%', NULL),"                       /* Open MPI */
	" ('libmpi\\_%.so%', NULL),"                   /* its bindings, Cray MPICH */
	" ('libmpich%.so%', NULL),"                    /* MPICH, MVAPICH, Intel MPI */
	" ('libucp.so%', NULL), ('libuct.so%', NULL)," /* UCX */
	" ('libfabric.so%', NULL),"
	" ('libibverbs.so%', 'libnccl.so%'),"
	" ('libgdrapi.so%', NULL)," /* GDRCopy */
	" ('libdoca\\_gpunetio.so%', NULL),"
	" ('libnvidia-encode.so%', NULL),"
	" ('libnvshmem\\_host.so%', '%'),"
	" ('libcufile.so%', '%'))" /* GPUDirect Storage */
	" SELECT process, max(others) FROM (SELECT m.process, iif(EXISTS"
	"  (SELECT 1 FROM module c WHERE c.process = m.process"
	"   AND c.path LIKE '%/' || l.carrier ESCAPE '\\')"
	"  AND NOT EXISTS (SELECT 1 FROM frame f WHERE f.module = m.id), 1, 2) AS others"
	"  FROM library l JOIN module m ON m.path LIKE '%/' || l.file ESCAPE '\\'"
	/*
	 * Modules are listed with new call sites and at the end; a library that was loaded in
	 * between may be missing where there was no end.
	 */
	" UNION ALL SELECT process, 1 FROM loss"
	"  WHERE reason IN ('not_closed', 'still_running', 'unlisted_modules')"
	" UNION ALL SELECT id, 2 FROM process p WHERE"
	"  EXISTS (SELECT 1 FROM process o JOIN stream_use u ON u.process = o.id"
	"   WHERE o.id <> p.id AND o.start < p.end AND p.start < o.end)) GROUP BY process";
_Static_assert(OTHERS_LOADED == 1 && OTHERS_MAY == 2, "others_sql");

/*
 * Sites within libraries, by what their memory and kernels are to the program.  What NCCL, linked
 * or not, shares with its peers is used by their kernels in collectives of this process only, which
 * wait for each other; nor does the program read its memory.  Kernels of NVIDIA's libraries for
 * mathematics write to what their parameters name, however they compute its addresses.
 */
enum { WITHIN_NCCL = 1, WITHIN_MATHEMATICS };
static const char within_sql[] =
	"SELECT f.site, max(iif(m.path LIKE '%/libnccl.so%' OR f.function GLOB 'nccl[A-Z]*', 1,"
	"  iif(f.depth = 0 AND (m.path LIKE '%/libcublas%' OR m.path LIKE '%/libcudnn%'"
	"   OR m.path LIKE '%/libcufft%' OR m.path LIKE '%/libcusparse%'"
	"   OR m.path LIKE '%/libcusolver%' OR m.path LIKE '%/libcurand%'), 2, 0))) AS within"
	" FROM frame f JOIN module m ON m.id = f.module WHERE f.depth < 4 GROUP BY f.site"
	" HAVING within";

static uint64_t within(const struct host_view *view, int64_t call)
{
	return map_get(&view->within, run_outer_site(view->run, call), 0);
}

/* Does the program access the memory?  What NCCL allocates is its own. */
static int is_shared(const struct host_view *view, const struct run_allocation *allocation)
{
	return (allocation->kind == ALLOCATION_PINNED ||
		       allocation->kind == ALLOCATION_REGISTERED ||
		       allocation->kind == ALLOCATION_MANAGED) &&
		within(view, allocation->created) != WITHIN_NCCL;
}

/* --- sources that no later call names --- */

/* Memory that a call names and that the program accesses. */
struct names {
	struct name {
		uint32_t allocation, role;
		int64_t low, high;
	} * name;
	size_t count;
};

/* bytes: negative if not known, which is all of the allocation. */
static void add_name(struct names *names, const struct host_view *view, uint32_t allocation,
	uint32_t role, int64_t address, int64_t bytes)
{
	struct name name = { allocation, role, address, INT64_MAX };

	if (!is_shared(view, run_allocation(view->run, allocation)))
		return;
	if (bytes < 0 || __builtin_add_overflow(address, bytes, &name.high))
		name = (struct name){ allocation, role, INT64_MIN, INT64_MAX };
	*array_push(names->name, names->count) = name;
}

/* A kernel or a graph may use all of what it names. */
static void find_names(struct names *names, const struct host_view *view,
	const struct run_operand *row)
{
	const struct run *run = view->run;
	const struct run_payload *payload = run_payload(run, run_call(run, row->call));
	const struct run_extent *extent = run_find(&run->extents, row->call);
	int64_t bytes = payload->has_bytes ? payload->bytes : -1;
	unsigned with_extents = 0; /* bits of roles: their operands have no other bytes */

	for (; extent; extent = run_next(&run->extents, extent)) {
		with_extents |= 1u << extent->role;
		add_name(names, view, extent->allocation, extent->role, extent->address,
			extent->span);
	}
	for (; row; row = run_next(&run->operands, row))
		if (!(with_extents & 1u << row->role))
			add_name(names, view, row->allocation, row->role, row->address,
				row->role == OPERAND_DST || operand_is_source(row->role) ? bytes
											 : -1);
}

/* Does the call have a source in such memory, of which no later call names a byte? */
static int reads_once(const struct names *names, const struct named_bytes *later)
{
	int reads = 0;

	for (size_t i = 0; i < names->count; i++) {
		const struct name *name = &names->name[i];

		if (!operand_is_source(name->role))
			continue;
		if (named_bytes_has(later, name->allocation, name->low, name->high))
			return 0;
		reads = 1;
	}
	return reads;
}

/* Goes through the calls from the last to the first. */
static void find_sources(struct host_view *view)
{
	const struct column *operands = &view->run->operands;
	const struct run_operand *first = (const struct run_operand *)operands->rows;
	const struct run_operand *row = run_rows_end(operands);
	struct named_bytes later = { 0 };
	struct names names = { 0 };

	while (row > first) {
		int shared = 0;

		do
			shared |= is_shared(view, run_allocation(view->run, (--row)->allocation));
		while (row > first && row[-1].call == row->call);
		names.count = 0;
		if (shared)
			find_names(&names, view, row);
		if (reads_once(&names, &later))
			map_set(&view->once, row->call, 1);
		for (size_t i = 0; i < names.count; i++)
			named_bytes_add(&later, names.name[i].allocation, names.name[i].low,
				names.name[i].high);
	}
	named_bytes_release(&later);
	free(names.name);
}

/* --- the view --- */

int host_view_find(struct host_view *view, struct db *db)
{
	const struct run *run = view->run = db->run;
	sqlite3_stmt *q = db_prepare(db, strays_sql);
	int step = ids_read(&view->others, db, others_sql, 0) ||
			ids_read(&view->within, db, within_sql, 0)
		? -1
		: 1;

	/* A call gives others access, too. */
	for (uint32_t id = 1; id < run_call_end(run) && step > 0; id++) {
		const struct run_call *call = run_call(run, id);
		enum kind_family family = call ? kind_family(call->kind) : FAMILY_other;
		uint64_t process, others;

		if (!call ||
			(family != FAMILY_interprocess && family != FAMILY_external &&
				!kind_has(call->kind, K_OUTSIDE)))
			continue;
		process = run_payload(run, call)->process;
		others = within(view, id) == WITHIN_NCCL ? OTHERS_LOADED : OTHERS_MAY;
		if (others > map_get(&view->others, process, OTHERS_NONE))
			map_set(&view->others, process, others);
	}
	/* Memory from before the trace began has no call. */
	for (uint32_t id = 1; id < run->allocations.count; id++) {
		const struct run_allocation *allocation = run_allocation(run, id);
		const struct run_call *maker = run_call(run, allocation->created);
		uint64_t process = maker ? run_payload(run, maker)->process : 0;
		uint64_t first = map_get(&view->memory, process, UINT64_MAX);

		if (is_shared(view, allocation) && allocation->created + UINT64_C(1) < first)
			map_set(&view->memory, process, allocation->created + UINT64_C(1));
	}
	find_sources(view);
	/* Launches that access an address outside of all allocations, which may be the host's. */
	while (q && step > 0 && (step = db_step(q)) > 0) {
		uint32_t shape = (uint32_t)sqlite3_column_int64(q, 0);
		uint32_t kernel = (uint32_t)sqlite3_column_int64(q, 1);
		const void *words = sqlite3_column_blob(q, 2);
		size_t count = (size_t)sqlite3_column_bytes(q, 2) / LAUNCH_WORD_BYTES;
		uint32_t known = run_shape(run, shape) ? shape : 0;

		for (size_t i = 0; i < count; i++) {
			struct launch_word word = launch_words_get(words, i);
			const struct run_claim *end;

			if (word.value && run_claims(run, kernel, known, word.offset, &end))
				map_set(&view->strays, shape, 1);
		}
	}
	sqlite3_finalize(q);
	return step || ids_read(&view->memory, db, PAGEABLE_SQL, 0) ||
			ids_read(&view->printers, db, printers_sql, 1) ||
			ids_read(&view->barriers, db, barriers_sql, 1)
		? -1
		: 0;
}

void host_view_release(struct host_view *view)
{
	map_release(&view->memory);
	map_release(&view->strays);
	map_release(&view->once);
	map_release(&view->printers);
	map_release(&view->barriers);
	map_release(&view->others);
	map_release(&view->within);
}

/* Memory that the host can access exists, for kernels that reach it by pointers. */
static int is_memory_there(const struct host_view *view, const struct walk_call *call)
{
	return map_get(&view->memory, 0, 0) ||
		map_get(&view->memory, (uint64_t)call->process, UINT64_MAX) <= (uint64_t)call->id;
}

int host_view_may_read(const struct host_view *view, struct access_reader *reader,
	const struct walk_call *call, int shown)
{
	const struct run *run = view->run;
	enum kind_family family = kind_family(call->kind);
	int is_graph = family == FAMILY_graph_launch;
	const struct run_kernel *kernel = run_kernel(run, call->kernel);
	const struct run_ended *launch;
	const struct accesses *accesses;

	if (shown)
		/* The host may have refilled the source, unless nothing reads it later. */
		return family == FAMILY_copy && !kind_has(call->kind, K_UNTIMED) &&
				!call->host_visible && call->src == MEMORY_PINNED &&
				call->direction == COPY_H2D &&
				map_get(&view->once, (uint64_t)call->id, 0)
			? SHOWN_NOTHING
			: SHOWN;
	if (family != FAMILY_launch && !is_graph)
		return SHOWN_NOTHING;
	/* Kernels access managed variables by name. */
	launch = is_graph || !view->strays.count ? NULL : run_find(&run->launches, call->id);
	if (map_get(&view->printers, (uint64_t)call->kernel, 0) ||
		map_get(&view->barriers, (uint64_t)call->id, 0) ||
		(launch && map_get(&view->strays, launch->what, 0)))
		return SHOWN;
	/* The nodes of a graph are judged as one operation. */
	if (is_graph && view->strays.count)
		return SHOWN_MAYBE;
	/* The kernel alone, without the launch shape, shows that the host sees no results. */
	if (!is_graph && call->kernel && !(kernel->reaches & PTX_REACH_VARIABLE) &&
		(kernel->complete || !is_memory_there(view, call)))
		return SHOWN_NOTHING;
	accesses = access_read(reader, call->id);
	if (!accesses)
		return -1;
	return accesses->reaches & PTX_REACH_VARIABLE ||
			(!accesses->complete && is_memory_there(view, call) &&
				within(view, call->id) != WITHIN_MATHEMATICS)
		? SHOWN_MAYBE
		: SHOWN_NOTHING;
}
