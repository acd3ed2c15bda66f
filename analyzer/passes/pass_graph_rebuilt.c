/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph-rebuilt: a line instantiates a graph repeatedly, each with the nodes and edges of the
 * previous one from there, whose executable is not launched any more.  "Graph Update allows ...
 * without requiring a repeated instantiation ... when the topology has not changed" (CUDA
 * programming guide, "Updating Instantiated Graphs").  If no argument has changed, the existing
 * executable does the same, and no capture is needed.
 *
 * Two executables of one topology that are both launched may have to run concurrently: launches of
 * one executable are serialized.  Graphs that contain graphs, or nodes that no update can change
 * (memory, conditions), are not reported.
 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "id_map.h"
#include "map.h"
#include "memory.h"
#include "pass.h"

/* The content of a graph, in order of its nodes, which is the order of the calls that made it. */
struct content {
	uint64_t topology, arguments;
	int64_t nodes, first; /* first: row of the first node */
	int is_simple;        /* all nodes can be updated */
};

struct executable {
	int64_t process, graph;
	/* Calls; 0: none. */
	int64_t created, destroyed, last_launch;
	int64_t begun, ended; /* that created and destroyed the graph */
};

struct search {
	const struct run *run;
	struct findings *findings;
	struct id_map contents;  /* graph -> struct content */
	struct executable *exec; /* in order of creation */
	size_t count;
	struct map by_id; /* row -> index + 1 */
	struct map last;  /* place -> index + 1 of the previous one from there */
};

/* --- content of graphs --- */

static const char nodes_sql[] =
	"SELECT n.graph, n.id, coalesce(n.origin, n.call), n.type, n.removed NOT NULL OR n.child"
	" NOT NULL OR n.type IN ('graph', 'alloc', 'free', 'conditional', 'memop', 'other')"
	" OR EXISTS (SELECT 1 FROM graph_change g WHERE g.graph = n.graph)"
	" FROM graph_node n ORDER BY n.graph, n.id";

static const char edges_sql[] =
	"SELECT graph, from_node, to_node, programmatic, removed NOT NULL FROM graph_edge"
	" ORDER BY graph, from_node, to_node";

/* An update can replace a kernel; its arguments are those recorded for a launch. */
static uint64_t arguments_of(const struct run *run, int64_t call)
{
	const struct run_call *row = run_call(run, call);
	const struct run_ended *launch = run_find(&run->launches, call);
	const struct run_operand *operand = run_find(&run->operands, call);
	const struct run_operand *end = run_rows_end(&run->operands);
	uint64_t hash = row ? map_hash_next(row->payload, launch ? launch->what : 0) : 0;

	for (; operand && operand < end && operand->call == call; operand++)
		hash = map_hash_next(map_hash_next(hash, operand->allocation),
			(uint64_t)operand->address);
	return hash;
}

static int add_node(struct search *search, sqlite3_stmt *q)
{
	const char *type = db_text(q, 3);
	struct content *content =
		id_map_need(&search->contents, sqlite3_column_int64(q, 0), sizeof(*content));

	if (!content->nodes++) {
		content->first = sqlite3_column_int64(q, 1);
		content->is_simple = 1;
	}
	content->topology = map_hash_next(content->topology, map_hash(type, strlen(type)));
	content->arguments = map_hash_next(content->arguments,
		arguments_of(search->run, sqlite3_column_int64(q, 2)));
	content->is_simple &= !sqlite3_column_int(q, 4);
	return 0;
}

static int add_edge(struct search *search, sqlite3_stmt *q)
{
	struct content *content = id_map_get(&search->contents, sqlite3_column_int64(q, 0));

	if (!content)
		return 0;
	for (int i = 1; i <= 2; i++)
		content->topology = map_hash_next(content->topology,
			(uint64_t)(sqlite3_column_int64(q, i) - content->first));
	content->topology = map_hash_next(content->topology, (uint64_t)sqlite3_column_int64(q, 3));
	content->is_simple &= !sqlite3_column_int(q, 4);
	return 0;
}

static int read_rows(struct search *search, struct db *db, const char *sql,
	int (*add)(struct search *, sqlite3_stmt *))
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		if (add(search, q)) {
			step = -1;
			break;
		}
	sqlite3_finalize(q);
	return step;
}

/* --- executables --- */

/* Excludes executables that were updated. */
static const char execs_sql[] =
	"SELECT e.id, e.process, e.graph, e.created, e.destroyed, g.created, g.destroyed"
	" FROM graph_exec e JOIN graph g ON g.id = e.graph WHERE e.created NOT NULL AND NOT EXISTS"
	" (SELECT 1 FROM graph_update u WHERE u.exec = e.id) AND NOT EXISTS"
	" (SELECT 1 FROM graph_change c WHERE c.exec = e.id) ORDER BY e.created";

static int add_exec(struct search *search, sqlite3_stmt *q)
{
	*array_push(search->exec, search->count) =
		(struct executable){ .process = sqlite3_column_int64(q, 1),
			.graph = sqlite3_column_int64(q, 2),
			.created = sqlite3_column_int64(q, 3),
			.destroyed = sqlite3_column_int64(q, 4),
			.begun = sqlite3_column_int64(q, 5),
			.ended = sqlite3_column_int64(q, 6) };
	map_set(&search->by_id, (uint64_t)sqlite3_column_int64(q, 0), search->count);
	return 0;
}

static void find_launches(struct search *search)
{
	const struct run_object *object = (const struct run_object *)search->run->objects.rows;

	for (uint64_t i = 0; i < search->run->objects.count; i++) {
		const struct run_call *call = run_call(search->run, object[i].call);
		uint64_t number = object[i].role == OBJECT_EXEC
			? map_get(&search->by_id, (uint64_t)object[i].object, 0)
			: 0;

		if (number && call && kind_family(call->kind) == FAMILY_graph_launch)
			search->exec[number - 1].last_launch = object[i].call;
	}
}

/* --- instances --- */

/* Returns the duration of the outermost call, ns; 0: unknown. */
static int64_t time_of(const struct run *run, int64_t id)
{
	const struct run_link *link = run_call(run, id) ? run_link(run, id) : NULL;
	int64_t outer = link && run_call(run, link->parent) ? link->parent : id;
	const struct run_call *call = run_call(run, outer);

	return call && call->duration < DURATION_LONG ? call->duration : 0;
}

/* Returns the call that ended the capture of a graph, 0: not captured. */
static int64_t end_of_capture(const struct run *run, const struct executable *exec)
{
	const struct run_call *begin = run_call(run, exec->begun);

	if (!begin || begin->kind != KIND_CAPTURE_BEGIN)
		return 0;
	for (uint32_t id = run_link(run, exec->begun)->next; id && id < exec->created;
		id = run_link(run, id)->next)
		if (run_call(run, id) && run_call(run, id)->kind == KIND_CAPTURE_END)
			return id;
	return 0;
}

static int64_t capture_time(const struct run *run, const struct executable *exec, int64_t end)
{
	const struct run_call *begin = run_call(run, exec->begun), *last = run_call(run, end);

	return begin && last ? run_exit(run, last, end) - begin->enter : 0;
}

static int is_rebuilt(const struct search *search, const struct executable *exec,
	const struct executable *before)
{
	const struct content *content = id_map_get(&search->contents, exec->graph);
	const struct content *other = id_map_get(&search->contents, before->graph);

	return content && other && content->is_simple && other->is_simple &&
		content->nodes == other->nodes && content->topology == other->topology &&
		before->last_launch < exec->created;
}

static int has_same_arguments(const struct search *search, const struct executable *exec,
	const struct executable *before)
{
	const struct content *content = id_map_get(&search->contents, exec->graph);
	const struct content *other = id_map_get(&search->contents, before->graph);

	return content->arguments == other->arguments;
}

static void add_also(struct instance *instance, int *also, int64_t call)
{
	if (call)
		instance->also[(*also)++] = call;
}

/* With the same arguments, the capture is saved, too. */
static int report(struct search *search, const struct executable *exec,
	const struct executable *before)
{
	const struct run *run = search->run;
	int64_t capture = has_same_arguments(search, exec, before) ? end_of_capture(run, exec) : 0;
	struct instance instance = { .rule = RULE_graph_rebuilt,
		.process = exec->process,
		.call = exec->created,
		.other_call = exec->begun,
		.cost = time_of(run, exec->created) + time_of(run, exec->destroyed) +
			capture_time(run, exec, capture),
		.change = CHANGE_CALL };
	int also = 0;

	add_also(&instance, &also, exec->destroyed);
	add_also(&instance, &also, capture);
	if (capture)
		add_also(&instance, &also, exec->ended);
	instance.saving = instance.cost;
	return findings_add(search->findings, &instance);
}

static int check_exec(struct search *search, size_t number)
{
	const struct executable *exec = &search->exec[number];
	int64_t place = findings_place(search->findings, exec->created);
	uint64_t last = place > 0 ? map_get(&search->last, (uint64_t)place, 0) : 0;

	if (place <= 0)
		return place < 0 ? -1 : 0;
	if (last && search->exec[last - 1].process == exec->process &&
		is_rebuilt(search, exec, &search->exec[last - 1]) &&
		report(search, exec, &search->exec[last - 1]))
		return -1;
	map_set(&search->last, (uint64_t)place, number + 1);
	return 0;
}

static int find_rebuilt(struct search *search, struct db *db)
{
	if (read_rows(search, db, execs_sql, add_exec))
		return -1;
	if (search->count < FINDING_MIN_COUNT)
		return 0;
	if (read_rows(search, db, nodes_sql, add_node) ||
		read_rows(search, db, edges_sql, add_edge))
		return -1;
	find_launches(search);
	for (size_t i = 0; i < search->count; i++)
		if (check_exec(search, i))
			return -1;
	return 0;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .run = input->run, .findings = findings };
	int rc = find_rebuilt(&search, input->db);

	id_map_release(&search.contents, free);
	free(search.exec);
	map_release(&search.by_id);
	map_release(&search.last);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" made an executable of a graph with the nodes of the one before, which was not "
	      "launched again",
		out);
	return 0;
}

const struct pass pass_graph_rebuilt = { .run = run, .say = say };
