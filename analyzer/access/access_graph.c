/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of a launch of an executable graph: those of its nodes, as the graph was when it was
 * instantiated or updated, with later changes of nodes in the executable.
 *
 * Launches of one executable have equal accesses until it changes or its memory is freed; they are
 * read once.  Programs update an executable before each launch, mostly to what it was before: equal
 * contents (graph_key.h) are kept and judged once.  If it is unknown which node was changed, each
 * node may have either its old or its new accesses.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access_graph.h"
#include "access_internal.h"
#include "calls.h"
#include "graph_key.h"
#include "map.h"
#include "memory.h"
#include "record.h"
#include "sorted.h"
#include "unnamed_memory.h"
#include "graph_child.h"

/*
 * Reading a node takes about 20 microseconds, and several passes process a run.  A reader reads at
 * most this many nodes and versions, and keeps this much of them.  For further launches it only
 * lists the memory that they name, and the detector counts them (access_graph_is_left_out).
 */
#define NODE_LIMIT 20000
#define CHANGES_A_NODE 16                /* take as long */
#define CONTENT_BYTES ((size_t)64 << 20) /* but for the first content of each executable */

/* The state of an executable for the launches between two calls. */
struct version {
	int64_t from, until;
	uint64_t number; /* of its content */
};

struct exec {
	struct version *version; /* in order of time */
	size_t count;
};

struct access_graphs {
	struct db *db;
	sqlite3_stmt *content, *change, *nodes, *bodies, *strays, *edges;
	struct id_map execs;
	struct map known;        /* key of a content -> its number */
	struct id_map contents;  /* number -> struct accesses */
	size_t bytes;            /* of these */
	struct graph_part *part; /* of the last version read, like the members below */
	size_t part_count;
	struct graph_part_node *node;
	size_t node_count;
	struct accesses accesses;
	int64_t exec;
	uint64_t number; /* of the last launch queried, 0: it was not read */
	int is_new;      /* that launch read a new content */
	int is_left_out; /* or would have, but for a limit */
	int complete;    /* nothing was left out */
	size_t nodes_read, node_limit;
	uint64_t numbers; /* contents so far */
};

/* Selects the graph of an executable and the call that defines its state. */
static const char content_sql[] =
	"SELECT ifnull(u.graph, e.graph), ifnull(u.call, e.as_of) FROM graph_exec e "
	"LEFT JOIN graph_update u ON u.call = "
	" (SELECT max(call) FROM graph_update WHERE exec = ?1 AND call < ?2) WHERE e.id = ?1";

/* Selects the last change before a call (0: none) and the next one after it (?3: none). */
static const char change_sql[] =
	"SELECT max(ifnull((SELECT max(call) FROM graph_update WHERE exec = ?1 AND call < ?2), 0), "
	"ifnull((SELECT max(call) FROM graph_change WHERE exec = ?1 AND call < ?2), 0)), "
	"min(ifnull((SELECT min(call) FROM graph_update WHERE exec = ?1 AND call > ?2), ?3), "
	"ifnull((SELECT min(call) FROM graph_change WHERE exec = ?1 AND call > ?2), ?3))";

/*
 * Selects the nodes of graph ?1 at call ?2, in executable ?3 at call ?4: type, call, child,
 * enabled.
 */
static const char nodes_sql[] =
	"SELECT n.type, coalesce("
	"(SELECT max(c.call) FROM graph_change c WHERE c.node = n.id AND c.exec = ?3 "
	" AND c.call > ?2 AND c.call < ?4 AND c.enabled IS NULL), "
	"(SELECT max(c.call) FROM graph_change c WHERE c.node = n.id AND c.exec IS NULL "
	" AND c.call < ?2), n.origin, n.call), n.child, " CHILD_AS_OF("?2") ", n.id, "
	"ifnull((SELECT c.enabled FROM graph_change c WHERE c.node = n.id AND c.exec = ?3 "
	" AND c.call > ?2 AND c.call < ?4 AND c.enabled NOT NULL ORDER BY c.call DESC LIMIT 1), 1) "
	"FROM graph_node n WHERE n.graph = ?1 AND n.call < ?2 AND ifnull(n.removed, ?2) >= ?2 "
	"ORDER BY n.id";

/* Selects changes without a known node: of graph ?1 until ?2 and of executable ?3 until ?4. */
static const char strays_sql[] =
	"SELECT c.call, c.type FROM graph_change c WHERE c.graph = ?1 AND c.node IS NULL "
	"AND c.exec IS NULL AND c.call < ?2 UNION ALL "
	"SELECT c.call, c.type FROM graph_change c WHERE c.exec = ?3 AND c.call > ?2 "
	"AND c.call < ?4 AND (c.node IS NULL OR NOT EXISTS "
	" (SELECT 1 FROM graph_node n WHERE n.id = c.node AND n.graph = ?1))";

struct access_graphs *access_graphs_open(struct db *db)
{
	struct access_graphs *graphs = xcalloc(1, sizeof(*graphs));

	graphs->db = db;
	graphs->node_limit = NODE_LIMIT;
	graphs->content = db_prepare(db, content_sql);
	graphs->change = db_prepare(db, change_sql);
	graphs->nodes = db_prepare(db, nodes_sql);
	graphs->bodies = db_prepare(db, "SELECT graph FROM graph_body WHERE node = ?");
	graphs->strays = db_prepare(db, strays_sql);
	graphs->edges = db_prepare(db, GRAPH_KEY_EDGES);
	if (graphs->content && graphs->change && graphs->nodes && graphs->bodies &&
		graphs->strays && graphs->edges)
		return graphs;
	access_graphs_close(graphs);
	return NULL;
}

static void free_exec(void *object)
{
	struct exec *exec = object;

	free(exec->version);
	free(exec);
}

static void free_content(void *object)
{
	accesses_release(object);
	free(object);
}

void access_graphs_close(struct access_graphs *graphs)
{
	sqlite3_stmt **all[] = { &graphs->content, &graphs->change, &graphs->nodes, &graphs->bodies,
		&graphs->strays, &graphs->edges };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sqlite3_finalize(*all[i]);
	id_map_release(&graphs->execs, free_exec);
	id_map_release(&graphs->contents, free_content);
	map_release(&graphs->known);
	accesses_release(&graphs->accesses);
	free(graphs->part);
	free(graphs->node);
	free(graphs);
}

/* --- nodes --- */

static void add_part(struct access_graphs *graphs, struct graph_part part)
{
	if (graphs->part_count == graphs->node_limit)
		return;
	*array_push(graphs->part, graphs->part_count) = part;
}

/* Adds a part that belongs to the last node. */
static void add_inner(struct access_graphs *graphs, int64_t graph, int64_t at, int maybe)
{
	size_t owner = graphs->node_count - 1;

	add_part(graphs,
		(struct graph_part){ .graph = graph,
			.at = at,
			.top = graphs->node[owner].top,
			.owner = (uint32_t)owner,
			.maybe = maybe });
}

static int add_bodies(struct access_graphs *graphs, int64_t node, int64_t at)
{
	int step;

	if (db_bind(graphs->bodies, "i", node))
		return -1;
	while ((step = db_step(graphs->bodies)) > 0)
		add_inner(graphs, sqlite3_column_int64(graphs->bodies, 0), at, 1);
	return step;
}

/* Adds the accesses of one call.  sum remains complete only if every part is. */
static int add_operation(struct access_reader *reader, int64_t call, const char *type,
	struct accesses *sum)
{
	int complete = sum->complete, named = sum->named;
	struct access_rows rows;

	if (access_find_rows(reader, call, &rows))
		return 0;
	if (access_add_operation(reader, &rows, type, sum))
		return -1;
	sum->complete &= complete;
	sum->named &= named;
	return 0;
}

/* Returns the kind of a call that does the same as a node of this type. */
static enum call_kind kind_of_node(const char *type)
{
	static const struct {
		const char *type;
		enum call_kind kind;
	} kinds[] = { { "kernel", KIND_LAUNCH }, { "copy", KIND_COPY_ASYNC },
		{ "set", KIND_SET_ASYNC }, { "alloc", KIND_ALLOC_ASYNC },
		{ "free", KIND_FREE_ASYNC } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(type, kinds[i].type))
			return kinds[i].kind;
	return KIND_RUNTIME;
}

/* A kernel may set other parameters for the node, or disable it. */
static int is_updatable(const struct run *run, int64_t call)
{
	return (run_object(run, call, OBJECT_ATTRIBUTES) & LAUNCH_UPDATABLE) != 0;
}

/* Stores the node in the current row of graphs->nodes. */
static void store_node(struct access_graphs *graphs, const struct run *run, size_t part)
{
	int64_t id = sqlite3_column_int64(graphs->nodes, 4);
	int64_t call = sqlite3_column_int64(graphs->nodes, 1);

	*array_push(graphs->node, graphs->node_count) = (struct graph_part_node){ .id = id,
		.top = part ? graphs->part[part].top : id,
		.call = call,
		.part = (uint32_t)part,
		.kind = (uint8_t)kind_of_node((const char *)sqlite3_column_text(graphs->nodes, 0)),
		.maybe = (uint8_t)(graphs->part[part].maybe || is_updatable(run, call)) };
}

/* Adds the accesses of that node, the last one stored. */
static int add_node(struct access_reader *reader, const struct graph_part *part,
	struct accesses *sum)
{
	sqlite3_stmt *q = reader->graphs->nodes;
	const char *type = (const char *)sqlite3_column_text(q, 0);
	size_t first = sum->count;

	if (!sqlite3_column_int(q, 5))
		return 0;
	/* A child graph set in the executable: its source graph is not recorded. */
	if (sqlite3_column_type(q, 2) != SQLITE_NULL && sqlite3_column_int64(q, 1) > part->at) {
		sum->complete = reader->graphs->complete = 0;
		return 0;
	}
	if (sqlite3_column_type(q, 2) != SQLITE_NULL) {
		add_inner(reader->graphs, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3),
			part->maybe);
		return 0;
	}
	if (!strcmp(type, "conditional"))
		return add_bodies(reader->graphs, sqlite3_column_int64(q, 4), part->at);
	if (add_operation(reader, sqlite3_column_int64(q, 1), type, sum))
		return -1;
	for (size_t i = first; i < sum->count; i++) {
		sum->access[i].node = (uint32_t)reader->graphs->node_count;
		sum->access[i].maybe |= reader->graphs->node[reader->graphs->node_count - 1].maybe;
		if (sum->access[i].maybe)
			sum->access[i].exact = 0;
	}
	return 0;
}

static int add_nodes(struct access_reader *reader, size_t number, int64_t exec, int64_t call,
	struct accesses *sum)
{
	struct access_graphs *graphs = reader->graphs;
	struct graph_part part = graphs->part[number];
	int step;

	if (db_bind(graphs->nodes, "iiIi", part.graph, part.at, part.first ? exec : DB_NULL, call))
		return -1;
	while ((step = db_step(graphs->nodes)) > 0) {
		graphs->nodes_read++;
		store_node(graphs, reader->run, number);
		if (add_node(reader, &part, sum))
			return -1;
	}
	return step;
}

/* Adds calls that each replace what an unknown node does. */
static int add_strays(struct access_reader *reader, const struct graph_part *part, int64_t exec,
	int64_t call, struct accesses *sum)
{
	sqlite3_stmt *q = reader->graphs->strays;
	int step, any = 0;

	if (db_bind(q, "iiii", part->graph, part->at, exec, call))
		return -1;
	while ((step = db_step(q)) > 0) {
		any = 1;
		if (add_operation(reader, sqlite3_column_int64(q, 0),
			    (const char *)sqlite3_column_text(q, 1), sum))
			return -1;
	}
	for (size_t i = 0; i < sum->count && any; i++)
		sum->access[i].sure = 0;
	return step;
}

/* --- state at one launch --- */

/* Returns 1 if the allocation was not freed before the call; limits the version to its life. */
static int is_alive(const struct run *run, int64_t id, int64_t call, struct version *version)
{
	const struct run_allocation *allocation = run_allocation(run, id);
	int64_t made = allocation->created;
	int64_t freed = allocation->freed ? allocation->freed : INT64_MAX;

	if (freed <= call)
		made = freed;
	else if (freed < version->until)
		version->until = freed;
	if (made > version->from)
		version->from = made;
	return freed > call;
}

/* Moves an access to the allocation now at its addresses.  Returns 0 if there is none. */
static int move(const struct run *run, const struct access_rows *launch,
	struct memory_access *access)
{
	for (const struct run_operand *row = launch->operand; row < launch->operands_end; row++) {
		const struct run_allocation *there = run_allocation(run, row->allocation);

		if (row->role != OPERAND_NODE || there->address > access->low ||
			there->address + there->bytes <= access->low)
			continue;
		access->allocation = row->allocation;
		if (access->high > there->address + there->bytes)
			access->high = there->address + there->bytes;
		return 1;
	}
	return 0;
}

/* Moves accesses to freed memory to the allocation that replaced it. */
static void update_memory(const struct run *run, const struct access_rows *launch, int64_t call,
	struct accesses *sum, struct version *version)
{
	size_t kept = 0;

	for (size_t i = 0; i < sum->count; i++) {
		struct memory_access *access = &sum->access[i];

		if (is_alive(run, access->allocation, call, version) ||
			(move(run, launch, access) &&
				is_alive(run, access->allocation, call, version)))
			sum->access[kept++] = *access;
	}
	sum->count = kept;
}

/* Adds memory that the launch names, with unknown use. */
static void add_named(struct access_reader *reader, const struct access_rows *launch,
	struct accesses *sum)
{
	for (const struct run_operand *row = launch->operand; row < launch->operands_end; row++) {
		const struct run_allocation *there = run_allocation(reader->run, row->allocation);
		struct memory_access access = {
			.allocation = row->allocation,
			.low = INT64_MIN,
			.high = INT64_MAX,
			.direction = ACCESS_UNKNOWN,
			.evidence = EVIDENCE_NONE,
		};
		size_t i = 0;

		if (row->role != OPERAND_NODE)
			continue;
		while (i < sum->count && sum->access[i].allocation != access.allocation)
			i++;
		if (i == sum->count)
			access_add(sum, &access, there->address, there->bytes);
	}
}

void access_add_named(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses)
{
	accesses->named = !(rows->content & CONTENT_UNNAMED);
	add_named(reader, rows, accesses);
}

static void copy(struct accesses *to, const struct accesses *from)
{
	if (from->count > to->room) {
		to->access = xrealloc(to->access, from->count, sizeof(*to->access));
		to->room = from->count;
	}
	if (from->count)
		memcpy(to->access, from->access, from->count * sizeof(*to->access));
	to->count = from->count;
	to->complete = from->complete;
	to->named = from->named;
	to->reaches = from->reaches;
}

/* Reads all nodes of the executable at the call, and their accesses. */
static int read_content(struct access_reader *reader, const struct access_rows *launch,
	int64_t call, struct version *version)
{
	struct access_graphs *graphs = reader->graphs;
	struct accesses *sum = &graphs->accesses;
	struct graph_part first = { .first = 1 };
	int rc = db_bind(graphs->content, "ii", launch->exec, call) ? -1 : db_step(graphs->content);

	if (rc > 0) {
		first.graph = sqlite3_column_int64(graphs->content, 0);
		first.at = sqlite3_column_int64(graphs->content, 1);
	}
	sqlite3_reset(graphs->content);
	sum->count = 0;
	sum->reaches = 0;
	sum->named = !(launch->content & CONTENT_UNNAMED);
	sum->complete = sum->named && rc > 0 && first.graph;
	graphs->part_count = graphs->node_count = 0;
	graphs->exec = launch->exec;
	graphs->complete = 1;
	graphs->nodes_read++;
	if (rc < 0)
		return -1;
	add_part(graphs, first);
	for (size_t i = 0; i < graphs->part_count; i++) {
		struct graph_part part = graphs->part[i];

		if (add_nodes(reader, i, launch->exec, call, sum) ||
			add_strays(reader, &part, part.first ? launch->exec : 0, call, sum))
			return -1;
		/* Stops for bodies that contain each other, or many of them. */
		if (graphs->part_count == graphs->node_limit ||
			graphs->nodes_read > 2 * graphs->node_limit) {
			sum->complete = graphs->complete = 0;
			break;
		}
	}
	update_memory(reader->run, launch, call, sum, version);
	return 0;
}

/* Keeps the content that was read last. */
static void keep_content(struct access_reader *reader, const struct access_rows *launch)
{
	struct access_graphs *graphs = reader->graphs;
	struct accesses *sum =
		id_map_need(&graphs->contents, (int64_t)graphs->numbers, sizeof(*sum));

	copy(sum, &graphs->accesses);
	for (size_t i = 0; i < sum->count; i++)
		if (sum->access[i].node)
			sum->access[i].node = (uint32_t)graphs->node[sum->access[i].node - 1].top;
	if (!sum->complete)
		add_named(reader, launch, sum);
	access_shorten(sum);
	sum->room = sum->count;
	sum->access = xrealloc(sum->access, sum->room + 1, sizeof(*sum->access));
	graphs->bytes += sum->room * sizeof(*sum->access);
}

static struct graph_content content_of(const struct access_graphs *graphs)
{
	return (struct graph_content){ .exec = graphs->exec,
		.number = (int64_t)graphs->number,
		.part = graphs->part,
		.node = graphs->node,
		.accesses = &graphs->accesses,
		.part_count = graphs->part_count,
		.node_count = graphs->node_count,
		.complete = graphs->complete };
}

static int read_version(struct access_reader *reader, const struct access_rows *launch,
	int64_t call, struct version *version)
{
	struct access_graphs *graphs = reader->graphs;
	struct graph_content content;
	uint64_t key;

	if (read_content(reader, launch, call, version))
		return -1;
	content = content_of(graphs);
	if (graph_key(reader->run, &content, launch, graphs->edges, &key))
		return -1;
	version->number = map_get(&graphs->known, key, 0);
	if (version->number)
		return 0;
	graphs->is_new = 1;
	version->number = ++graphs->numbers;
	map_set(&graphs->known, key, version->number);
	keep_content(reader, launch);
	return 0;
}

static int find_lifetime(struct access_graphs *graphs, int64_t exec, int64_t call,
	struct version *version)
{
	int rc = db_bind(graphs->change, "iii", exec, call, INT64_MAX) ? -1
								       : db_step(graphs->change);

	if (rc > 0) {
		version->from = sqlite3_column_int64(graphs->change, 0);
		version->until = sqlite3_column_int64(graphs->change, 1);
	}
	sqlite3_reset(graphs->change);
	return rc < 0 ? -1 : 0;
}

void access_copy_version(struct access_reader *reader, uint64_t number, struct accesses *accesses)
{
	copy(accesses, id_map_get(&reader->graphs->contents, (int64_t)number));
}

/* Others that walk other parts read graphs, too. */
static int read_next(struct access_reader *reader, int64_t call, const struct access_rows *rows,
	struct version *version)
{
	int rc;

	db_lock(reader->graphs->db);
	rc = find_lifetime(reader->graphs, rows->exec, call, version) ||
		read_version(reader, rows, call, version);
	db_unlock(reader->graphs->db);
	return rc ? -1 : 0;
}

/* The first of an executable's versions that begins after the call. */
static size_t place_of(const struct exec *exec, int64_t call)
{
	return sorted_after(exec->version, exec->count, sizeof(*exec->version),
		offsetof(struct version, from), call);
}

/* Versions of one executable do not overlap. */
static void add_version(struct exec *exec, int64_t call, struct version version)
{
	size_t place = place_of(exec, call);

	*array_push(exec->version, exec->count) = version;
	memmove(exec->version + place + 1, exec->version + place,
		(exec->count - 1 - place) * sizeof(version));
	exec->version[place] = version;
}

int access_find_version(struct access_reader *reader, int64_t call, const struct access_rows *rows,
	uint64_t *number)
{
	struct access_graphs *graphs = reader->graphs;
	struct exec *exec = id_map_need(&graphs->execs, rows->exec, sizeof(*exec));
	size_t place = place_of(exec, call);
	struct version version = { 0 };

	*number = graphs->number = 0;
	graphs->is_new = graphs->is_left_out = 0;
	if (place && call < exec->version[place - 1].until) {
		*number = graphs->number = exec->version[place - 1].number;
		return 0;
	}
	/* What changed since it was instantiated is walked, too. */
	graphs->nodes_read += exec->count / CHANGES_A_NODE;
	if ((graphs->bytes > CONTENT_BYTES && exec->count) ||
		graphs->nodes_read > graphs->node_limit) {
		graphs->is_left_out = 1;
		return 0;
	}
	if (read_next(reader, call, rows, &version))
		return -1;
	add_version(exec, call, version);
	*number = graphs->number = version.number;
	return 0;
}

int access_graph_is_left_out(const struct access_reader *reader)
{
	return reader->graphs->is_left_out;
}

int access_graph_is_new(const struct access_reader *reader, struct graph_content *content)
{
	*content = content_of(reader->graphs);
	return reader->graphs->is_new;
}

void access_graph_limit(struct access_reader *reader, size_t nodes)
{
	reader->graphs->node_limit = nodes;
}
