/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing fences within a graph.  "A node is scheduled once the nodes on which it depends are
 * complete" (CUDA programming guide, "CUDA graphs"): only its edges order it, not the streams that
 * it was captured from.  Nodes are visited in topological order, and each is judged like an
 * operation of a stream.
 *
 * An edge from a programmatic port need not wait for the end of the other node, but for its begin,
 * if that lets following kernels begin.  The code of the second node shows whether it waits on the
 * device (dependents.h); if so, it ends after the first.  Of a third node that comes after the
 * second only by such edges more is not known: such hazards are at most possible.
 */
#include <stdlib.h>

#include "graph_order.h"
#include "hazards_internal.h"
#include "memory.h"
#include "sorted.h"

/* Pairs of accesses judged in one graph, and in all, 0.5 us each; a graph beyond is a loss. */
#define MOST_JUDGED 1000000
#define MOST_JUDGED_IN_ALL (64 * MOST_JUDGED)

struct graph_walk {
	struct hazards *hazards;
	const struct graph_content *content;
	struct graph_order full; /* what surely ends before */
	struct graph_order any;  /* as if all edges waited for the end of a node */
	struct graph_edge *port; /* edges that do not wait for the end of a node */
	size_t ports;
	unsigned char *follows,
		*precedes;     /* by node: it has an edge from, or to, another node of its part */
	size_t *first;         /* by node: its first access; one more at the end */
	int64_t *rank;         /* order of creation; ends of parts come first */
	struct map made;       /* address -> allocation of a node */
	struct id_map shared;  /* allocation -> struct shared */
	size_t vertex;         /* the current one */
	int has_ports;         /* nodes have vertices for their ends */
	uint32_t *in, *out;    /* by vertex: edges that wait for the end of a node */
	uint32_t *number;      /* by vertex: its place among those visited, 0: not visited */
	uint32_t visited, cut; /* number of the last one visited, and of the last cut */
	size_t open, roots;    /* edges to, and vertices without edges among, those not visited */
	size_t first_row;      /* index of the graph's first hazard */
};

/*
 * After the vertices of the nodes, each part has a vertex for its end, and with ports each node,
 * too: then the node's first vertex is its begin.
 */
static size_t end_of(const struct graph_walk *walk, size_t part)
{
	return walk->content->node_count + part;
}

static size_t end_of_node(const struct graph_walk *walk, size_t node)
{
	return walk->has_ports ? walk->content->node_count + walk->content->part_count + node
			       : node;
}

/*
 * Returns the vertex that precedes the work after a node: the end of its last part, if it has any.
 */
static size_t after(const size_t *last_part, const struct graph_walk *walk, size_t node)
{
	return last_part[node] ? end_of(walk, last_part[node]) : end_of_node(walk, node);
}

/* --- edges --- */

static void add_sure_edge(struct graph_walk *walk, size_t from, size_t to)
{
	walk->out[from]++;
	walk->in[to]++;
	graph_order_add(&walk->full, from, to);
}

static void add_edge(struct graph_walk *walk, size_t from, size_t to)
{
	add_sure_edge(walk, from, to);
	graph_order_add(&walk->any, from, to);
}

static void add_port(struct graph_walk *walk, size_t from, size_t to)
{
	const struct run *run = walk->hazards->run;
	const struct graph_part_node *node = walk->content->node;

	if (!dependents_triggers(run, node[from].call)) {
		add_edge(walk, end_of_node(walk, from), to);
		return;
	}
	*array_push(walk->port, walk->ports) = (struct graph_edge){ (uint32_t)from, (uint32_t)to };
	add_sure_edge(walk, from, to);
	graph_order_add(&walk->any, end_of_node(walk, from), to);
	if (!dependents_ignores(run, node[to].call))
		add_sure_edge(walk, end_of_node(walk, from), end_of_node(walk, to));
}

/* Returns the node of a part with that row id, node_count if there is none. */
static size_t find_node(const struct graph_content *content, size_t low, size_t end, int64_t id)
{
	size_t at = low +
		sorted_from(content->node + low, end - low, sizeof(*content->node),
			offsetof(struct graph_part_node, id), id);

	return at < end && content->node[at].id == id ? at : content->node_count;
}

/* The parts of a node start after it and run one after the other, since one body runs at a time. */
static int add_part(struct graph_walk *walk, size_t number, const size_t *last_part, size_t first,
	size_t end)
{
	const struct graph_part *part = &walk->content->part[number];
	size_t begin = part->owner;

	/* Adds the edges among the nodes of a part, which are those from first to end. */
	const struct graph_content *content = walk->content;
	sqlite3_stmt *q = walk->hazards->edges;
	int step;

	db_lock(walk->hazards->db);
	step = db_bind(q, "ii", part->graph, part->at);
	while (!step && (step = db_step(q)) > 0) {
		size_t from = find_node(content, first, end, sqlite3_column_int64(q, 0));
		size_t to = find_node(content, first, end, sqlite3_column_int64(q, 1));

		step = 0;
		if (from == content->node_count || to == content->node_count)
			continue;
		if (sqlite3_column_int(q, 2)) {
			add_port(walk, from, to);
		} else {
			walk->precedes[from] = walk->follows[to] = 1;
			add_edge(walk, after(last_part, walk, from), to);
		}
	}
	sqlite3_reset(q);
	db_unlock(walk->hazards->db);
	if (step)
		return -1;
	if (!number)
		return 0;
	if (number > 1 && walk->content->part[number - 1].owner == part->owner)
		begin = end_of(walk, number - 1);
	for (size_t i = first; i < end; i++) {
		if (!walk->follows[i])
			add_edge(walk, begin, i);
		if (!walk->precedes[i])
			add_edge(walk, after(last_part, walk, i), end_of(walk, number));
	}
	add_edge(walk, begin, end_of(walk, number));
	return 0;
}

/*
 * A cut is a vertex that all later vertices come after: all edges that lead on begin there.  Then
 * they also come after all that comes before the cut, and no access of that need be kept.
 */
static void find_cut(struct graph_walk *walk)
{
	size_t vertex = walk->vertex;

	walk->number[vertex] = ++walk->visited;
	walk->open += walk->out[vertex];
	walk->open -= walk->in[vertex];
	walk->roots -= !walk->in[vertex];
	if (walk->open == walk->out[vertex] && !walk->roots)
		walk->cut = walk->visited;
}

/* --- nodes --- */

static int is_joined_by_port(const struct graph_walk *walk, size_t from, size_t to)
{
	for (size_t i = 0; i < walk->ports; i++)
		if (walk->port[i].from == from && walk->port[i].to == to)
			return 1;
	return 0;
}

static int has_ended(const struct graph_walk *walk, const struct graph_order *order, size_t node)
{
	return graph_order_is_before(order, graph_order_place(order, end_of_node(walk, node)));
}

static enum order_strength order_of_nodes(void *arg, const struct past_access *past,
	const struct memory_access *access)
{
	const struct graph_walk *walk = arg;
	size_t earlier = past->by.epoch.set;

	walk->hazards->launched_early = 0;
	if (has_ended(walk, &walk->full, earlier))
		return ORDER_GUARANTEED;
	if (!walk->has_ports || !has_ended(walk, &walk->any, earlier))
		return ORDER_UNORDERED;
	if (!is_joined_by_port(walk, earlier, walk->vertex))
		return ORDER_ASSUMED;
	if (!access->early)
		return ORDER_GUARANTEED;
	walk->hazards->launched_early = 1;
	return ORDER_UNORDERED;
}

static int judge(struct graph_walk *walk, const struct memory_access *access)
{
	const struct shared *shared = id_map_get(&walk->shared, access->allocation);

	return shared && access->direction != ACCESS_UNKNOWN
		? hazards_judge(walk->hazards, shared, access)
		: 0;
}

/* What comes before the current vertex and was visited before the cut comes before the cut. */
static int is_over(void *arg, const struct past_access *past)
{
	const struct graph_walk *walk = arg;
	size_t node = past->by.epoch.set;

	return walk->number[node] <= walk->cut && has_ended(walk, &walk->full, node);
}

static int keep(struct graph_walk *walk, const struct memory_access *access)
{
	struct hazards *hazards = walk->hazards;
	struct shared *shared = usage_need(&hazards->usage, &walk->shared, access->allocation);

	if (access->direction == ACCESS_UNKNOWN)
		return 0;
	if (shared->history.count >= shared->history.sweep_at)
		history_sweep(&shared->history, is_over, walk);
	return hazards_remember(hazards, shared, access);
}

/* Finds the memory that a node allocates, or frees: the last allocation at that address. */
static void find_life(struct graph_walk *walk, const struct graph_part_node *node, uint32_t *life)
{
	const struct run *run = walk->hazards->run;
	const struct run_call *call = run_call(run, node->call);
	uint64_t address = call ? (uint64_t)run_payload(run, call)->ptr : 0;

	*life = 0;
	if (node->kind == KIND_FREE_ASYNC)
		*life = (uint32_t)map_get(&walk->made, address, 0);
	if (node->kind != KIND_ALLOC_ASYNC)
		return;
	*life = hazards_made_by(run, node->call);
	if (*life)
		map_set(&walk->made, address, *life);
}

static int judge_life(struct graph_walk *walk, const struct graph_part_node *node)
{
	struct memory_access all;
	uint32_t life;

	find_life(walk, node, &life);
	if (!life)
		return 0;
	all = hazards_life_of(walk->hazards->run, life);
	walk->hazards->now.is_life = 1;
	return judge(walk, &all) || keep(walk, &all) ? -1 : 0;
}

static int judge_node(struct graph_walk *walk, size_t number)
{
	struct hazards *hazards = walk->hazards;
	const struct memory_access *access = walk->content->accesses->access;
	size_t end = walk->first[number + 1];

	const struct graph_part_node *node = &walk->content->node[number];
	const struct run_call *call = run_call(walk->hazards->db->run, node->call);
	struct graph_place place = graph_order_place(&walk->full, number);
	hazards->now = (struct operation_point){ .call = node->call,
		.stream = call ? call->stream : 0,
		/* Nodes joined by a port are in one chain and overlap. */
		.lane = walk->has_ports ? (int64_t)number : place.chain,
		.place = hazards_place(walk->hazards->run, node->call),
		.start = WALK_NEVER,
		.end = WALK_NEVER,
		.epoch = { .key = place.chain, .set = (uint32_t)number, .seq = place.position },
		.kind = (enum call_kind)node->kind,
		.maybe = node->maybe };
	hazards->now.spins =
		(uint8_t)hazards_spins(access + walk->first[number], end - walk->first[number]);
	hazards->first = hazards->count;
	for (size_t i = walk->first[number]; i < end; i++)
		if (judge(walk, &access[i]))
			return -1;
	for (size_t i = walk->first[number]; i < end; i++)
		if (keep(walk, &access[i]))
			return -1;
	if (judge_life(walk, &walk->content->node[number]))
		return -1;
	hazards_keep_rows(hazards, walk->first_row);
	return 0;
}

/* Accesses are sorted by node; those of node 0 belong to no known node. */
static void find_accesses(struct graph_walk *walk)
{
	const struct accesses *accesses = walk->content->accesses;
	size_t nodes = walk->content->node_count;

	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->access[i].node && accesses->access[i].node <= nodes)
			walk->first[accesses->access[i].node - 1]++;
	for (size_t i = 0, at = 0; i <= nodes; i++) {
		size_t own = walk->first[i];

		walk->first[i] = at;
		at += own;
	}
}

/* Returns 0; 1 if it takes too much work, or the edges form a cycle; -1 after a message. */
static int judge_nodes(struct graph_walk *walk)
{
	uint64_t left = MOST_JUDGED_IN_ALL - walk->hazards->judged_in_graphs;
	uint64_t most = walk->hazards->judged + (left < MOST_JUDGED ? left : MOST_JUDGED);
	size_t end = walk->content->node_count;
	int rc = graph_order_start(&walk->any, walk->rank);
	int other = graph_order_start(&walk->full, NULL), next;

	if (rc || other)
		return rc < 0 || other < 0 ? -1 : 1;
	while ((next = graph_order_next(&walk->any, &walk->vertex)) > 0) {
		if (graph_order_visit(&walk->full, walk->vertex))
			return 1;
		find_cut(walk);
		if (walk->vertex < end && judge_node(walk, walk->vertex))
			return -1;
		if (walk->hazards->judged > most)
			return 1;
	}
	return next ? 1 : 0;
}

static int begin(struct graph_walk *walk)
{
	size_t nodes = walk->content->node_count, vertices;

	walk->has_ports = walk->hazards->has_ports;
	vertices = nodes + walk->content->part_count + (walk->has_ports ? nodes : 0);
	walk->follows = xcalloc(nodes + 1, 1);
	walk->precedes = xcalloc(nodes + 1, 1);
	walk->first = xcalloc(nodes + 1, sizeof(*walk->first));
	walk->rank = xcalloc(vertices + 1, sizeof(*walk->rank));
	walk->in = xcalloc(vertices + 1, sizeof(*walk->in));
	walk->out = xcalloc(vertices + 1, sizeof(*walk->out));
	walk->number = xcalloc(vertices + 1, sizeof(*walk->number));
	if (graph_order_init(&walk->full, vertices) || graph_order_init(&walk->any, vertices))
		return -1;
	for (size_t i = 0; i < nodes; i++)
		walk->rank[i] = walk->rank[end_of_node(walk, i)] = walk->content->node[i].call;
	find_accesses(walk);
	const struct graph_content *content = walk->content;
	size_t *last_part = xcalloc(content->node_count + 1, sizeof(*last_part));
	size_t first = 0, end;
	int rc = 0;

	for (size_t i = 1; i < content->part_count; i++)
		last_part[content->part[i].owner] = i;
	for (size_t i = 0; walk->has_ports && i < content->node_count; i++)
		add_edge(walk, i, end_of_node(walk, i));
	for (size_t i = 0; i < content->part_count && !rc; i++, first = end) {
		for (end = first; end < content->node_count && content->node[end].part == i; end++)
			;
		rc = add_part(walk, i, last_part, first, end);
	}
	free(last_part);
	if (rc)
		return -1;
	for (size_t i = 0; i < vertices; i++)
		walk->roots += !walk->in[i];
	return 0;
}

/* Counts executables that are too large or not known in full, each once. */
static void note_skipped(struct hazards *hazards, int64_t exec)
{
	if (map_get(&hazards->skipped_execs, (uint64_t)exec, 0))
		return;
	map_set(&hazards->skipped_execs, (uint64_t)exec, 1);
	map_add(&hazards->skipped, (uint64_t)hazards->process, 1);
}

int hazards_check_graph(struct hazards *hazards, const struct graph_content *content,
	const struct walk_call *launch)
{
	struct graph_walk walk = { .hazards = hazards,
		.content = content,
		.first_row = hazards->count };
	struct ordering streams = hazards->ordering;
	struct operation_point now = hazards->now;
	struct graph_hazards *own =
		id_map_need(&hazards->graphs, content->number, sizeof(struct graph_hazards));
	uint64_t judged = hazards->judged;
	int rc;

	own->first = hazards->count;
	hazards->launch = launch->id;
	hazards->ordering = (struct ordering){ order_of_nodes, &walk };
	rc = !content->complete ? 1 : begin(&walk) ? -1 : judge_nodes(&walk);
	judged = hazards->judged_in_graphs + hazards->judged - judged;
	hazards->judged_in_graphs = judged < MOST_JUDGED_IN_ALL ? judged : MOST_JUDGED_IN_ALL;
	if (rc > 0) {
		note_skipped(hazards, content->exec);
		rc = 0;
	}
	graph_order_release(&walk.full);
	graph_order_release(&walk.any);
	usage_free_shared(&walk.shared);
	map_release(&walk.made);
	free(walk.port);
	free(walk.follows);
	free(walk.precedes);
	free(walk.first);
	free(walk.rank);
	free(walk.in);
	free(walk.out);
	free(walk.number);
	own->count = hazards->count - own->first;
	hazards->first = hazards->count;
	hazards->ordering = streams;
	hazards->now = now;
	hazards->launch = 0;
	return rc;
}

void hazards_count_graph(struct hazards *hazards, int64_t number)
{
	const struct graph_hazards *own = number ? id_map_get(&hazards->graphs, number) : NULL;

	for (size_t i = 0; own && i < own->count; i++)
		hazards->hazard[own->first + i].count++;
}
