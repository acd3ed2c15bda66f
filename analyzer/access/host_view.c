/* SPDX-License-Identifier: Apache-2.0 */
#include "host_view.h"

static int is_shared(const struct run_allocation *allocation)
{
	return allocation->kind == ALLOCATION_PINNED || allocation->kind == ALLOCATION_REGISTERED ||
		allocation->kind == ALLOCATION_MANAGED;
}

/* Memory from before the trace began has no call. */
static int find_memory(struct host_view *view)
{
	const struct run *run = view->run;

	for (uint32_t id = 1; id < run->allocations.count; id++) {
		const struct run_allocation *allocation = run_allocation(run, id);
		const struct run_call *maker = run_call(run, allocation->created);
		uint64_t process = maker ? run_payload(run, maker)->process : 0;
		uint64_t first = map_get(&view->memory, process, UINT64_MAX);

		if (is_shared(allocation) && allocation->created + UINT64_C(1) < first &&
			map_set(&view->memory, process, allocation->created + UINT64_C(1)))
			return -1;
	}
	return 0;
}

static int find_last(struct host_view *view)
{
	const struct run_operand *row = (const struct run_operand *)view->run->operands.rows;
	const struct run_operand *end = run_rows_end(&view->run->operands);

	for (; row < end; row++)
		if (is_shared(run_allocation(view->run, row->allocation)) &&
			map_set(&view->last, row->allocation, row->call))
			return -1;
	return 0;
}

/* Printed output appears at a wait. */
static const char printers_sql[] = "SELECT kernel FROM kernel_code WHERE prints";

static int read_ids(struct db *db, const char *sql, struct map *ids)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		if (map_set(ids, (uint64_t)sqlite3_column_int64(q, 0), 1)) {
			step = -1;
			break;
		}
	sqlite3_finalize(q);
	return step;
}

static const char others_sql[] =
	"SELECT id FROM process p WHERE "
	"EXISTS (SELECT 1 FROM process o JOIN work ON work.process = o.id "
	" WHERE o.id <> p.id AND o.start < p.end AND p.start < o.end) "
	"OR EXISTS (SELECT 1 FROM module WHERE process = p.id AND (path LIKE '%/libmpi.so%' "
	" OR path LIKE '%/libmpich.so%' OR path LIKE '%/libucp.so%' "
	" OR path LIKE '%/libfabric.so%' OR path LIKE '%/libnvshmem_host.so%'))";

/* Finds processes with calls that give others access to their memory. */
static int find_shared(struct host_view *view)
{
	for (uint32_t id = 1; id < run_call_end(view->run); id++) {
		const struct run_call *call = run_call(view->run, id);
		enum kind_family family = call ? kind_family(call->kind) : FAMILY_other;

		if (call &&
			(family == FAMILY_interprocess || family == FAMILY_external ||
				kind_has(call->kind, K_OUTSIDE)) &&
			map_set(&view->others, run_payload(view->run, call)->process, 1))
			return -1;
	}
	return 0;
}

int host_view_find(struct host_view *view, struct db *db)
{
	view->run = db->run;
	return find_memory(view) || find_last(view) || find_shared(view) ||
			read_ids(db, printers_sql, &view->printers) ||
			read_ids(db, others_sql, &view->others)
		? -1
		: 0;
}

int host_view_has_others(const struct host_view *view, int64_t process)
{
	return map_get(&view->others, (uint64_t)process, 0) != 0;
}

void host_view_release(struct host_view *view)
{
	map_release(&view->memory);
	map_release(&view->last);
	map_release(&view->printers);
	map_release(&view->others);
}

/* Memory that the host can access exists, for kernels that reach it by pointers. */
static int is_memory_there(const struct host_view *view, const struct walk_call *call)
{
	return map_get(&view->memory, 0, 0) ||
		map_get(&view->memory, (uint64_t)call->process, UINT64_MAX) <= (uint64_t)call->id;
}

/* The kernel alone, without the launch shape, shows that the host cannot see the results. */
static int is_private(const struct host_view *view, const struct walk_call *call)
{
	const struct run_kernel *kernel = run_kernel(view->run, call->kernel);

	return kind_family(call->kind) == FAMILY_launch && call->kernel &&
		!(kernel->reaches & PTX_REACH_VARIABLE) &&
		(kernel->complete || !is_memory_there(view, call));
}

/* Kernels access managed variables by name. */
static int shows_kernel(const struct host_view *view, struct access_reader *reader,
	const struct walk_call *call)
{
	const struct accesses *accesses;

	if (map_get(&view->printers, (uint64_t)call->kernel, 0))
		return 1;
	if (is_private(view, call))
		return 0;
	accesses = access_read(reader, call->id);
	if (!accesses)
		return -1;
	return accesses->reaches & PTX_REACH_VARIABLE ||
		(!accesses->complete && is_memory_there(view, call));
}

/* The host may have refilled the source of a copy, unless nothing reads it later. */
static int shows_source(const struct host_view *view, const struct walk_call *call)
{
	const struct run_operand *row = run_find(&view->run->operands, call->id);
	const struct run_operand *end = run_rows_end(&view->run->operands);

	for (; row && row < end && row->call == call->id; row++)
		if (operand_is_source(row->role) &&
			is_shared(run_allocation(view->run, row->allocation)))
			return map_get(&view->last, row->allocation, 0) > (uint64_t)call->id;
	return 1;
}

int host_view_may_read(const struct host_view *view, struct access_reader *reader,
	const struct walk_call *call, int shown)
{
	enum kind_family family = kind_family(call->kind);

	if (!shown)
		return family == FAMILY_launch || family == FAMILY_graph_launch
			? shows_kernel(view, reader, call)
			: 0;
	if (family == FAMILY_copy && !kind_has(call->kind, K_UNTIMED) && !call->host_visible &&
		call->src == MEMORY_PINNED && call->direction == COPY_H2D)
		return shows_source(view, call);
	return 1;
}
