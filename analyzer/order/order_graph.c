/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs.  "Each launch is ordered behind both any previous work in hStream and any
 * previous launches of hGraphExec" (cuGraphLaunch).  A launch is one node of the order.  An event
 * recorded by a node inside captures only the work that precedes that node, and work after a node
 * that waits for an event is ordered after the event, not after the whole graph.
 */
#include <stdlib.h>

#include "graph_child.h"
#include "memory.h"
#include "order_steps.h"
#include "sorted.h"

/*
 * The content of an executable graph after a call: a graph, as of a call, and since which update.
 */
static const char content_sql[] =
	"SELECT ifnull(u.graph, e.graph), ifnull(u.call, e.as_of), ifnull(u.call, 0) "
	"FROM graph_exec e LEFT JOIN graph_update u ON u.call = "
	" (SELECT max(call) FROM graph_update WHERE exec = ?1 AND call <= ?2) WHERE e.id = ?1";

/*
 * The event that a node was last given: in the executable ?3, between ?4 and ?5, else in its graph.
 */
#define EVENT(until) \
	"coalesce((SELECT c.event FROM graph_change c WHERE c.node = n.id AND c.exec = ?3 " \
	" AND c.call > ?4 AND c.call <= ?5 AND c.event NOT NULL ORDER BY c.call DESC LIMIT 1), " \
	"(SELECT c.event FROM graph_change c WHERE c.node = n.id AND c.exec IS NULL " \
	" AND c.call < " until " AND c.event NOT NULL ORDER BY c.call DESC LIMIT 1), n.event)"

/*
 * Nodes with effects outside their graph.  Nodes of a child graph have them at the child's
 * position.
 */
static const char nodes_sql[] =
	"WITH RECURSIVE part(top, graph, at) AS ("
	" SELECT n.id, n.child, " CHILD_AS_OF("?2") " FROM graph_node n WHERE n.graph = ?1"
	" AND n.child IS NOT NULL AND n.call < ?2 AND ifnull(n.removed, ?2) >= ?2"
	" UNION SELECT p.top, n.child, " CHILD_AS_OF("p.at") " FROM part p CROSS JOIN graph_node n"
	" WHERE n.graph = p.graph AND n.child IS NOT NULL AND n.call < p.at"
	" AND ifnull(n.removed, p.at) >= p.at) "
	"SELECT n.id, n.type, " EVENT("?2") " FROM graph_node n WHERE n.graph = ?1 "
	"AND (n.acts = 1 OR n.type = 'host') "
	"AND n.call < ?2 AND ifnull(n.removed, ?2) >= ?2 "
	"UNION ALL SELECT p.top, n.type, " EVENT("p.at") " FROM part p CROSS JOIN graph_node n "
	"WHERE n.graph = p.graph AND (n.acts = 1 OR n.type = 'host') AND n.call < p.at "
	"AND ifnull(n.removed, p.at) >= p.at";

static const char arcs_sql[] =
	"SELECT from_node, to_node FROM graph_edge WHERE graph = ?1 AND added < ?2 "
	"AND ifnull(removed, ?2) >= ?2 AND NOT programmatic ORDER BY from_node";

/* A node that existed before the executable graph changed keeps its state. */
static void keep_node(struct order_graph_node *node, struct order_graph_node *old, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (old[i].node != node->node || old[i].act != node->act)
			continue;
		node->key = old[i].key;
		node->state = old[i].state;
		old[i].key = 0;
		old[i].state = ORDER_NOTHING;
	}
}

static int add_node(struct order *order, struct order_exec *exec, struct order_exec *old,
	sqlite3_stmt *q)
{
	const char *type = (const char *)sqlite3_column_text(q, 1);
	struct order_graph_node *node = array_push(exec->node, exec->node_count);

	*node = (struct order_graph_node){ .node = sqlite3_column_int64(q, 0),
		.event = sqlite3_column_int64(q, 2),
		.state = ORDER_NOTHING,
		.act = GRAPH_EXTERNAL };
	if (type && type[0] == 'r' && node->event)
		node->act = GRAPH_RECORDS;
	else if (type && type[0] == 'w' && node->event)
		node->act = GRAPH_WAITS;
	else if (type && type[0] == 'h')
		node->act = GRAPH_TELLS;
	keep_node(node, old->node, old->node_count);
	exec->acts |= node->act != GRAPH_TELLS;
	if (node->act != GRAPH_RECORDS && node->act != GRAPH_TELLS)
		return 0;
	if (!node->key)
		node->key = order_new_key(order, 1);
	return node->key ? 0 : -1;
}

static int read_content(struct order *order, struct order_exec *exec, int64_t call, int64_t *since)
{
	sqlite3_stmt *q = db_prepare(order->db, content_sql);
	int rc = !q || db_bind(q, "ii", exec->id, call) ? -1 : db_step(q);

	exec->graph = rc > 0 ? sqlite3_column_int64(q, 0) : 0;
	exec->created = rc > 0 ? sqlite3_column_int64(q, 1) : 0;
	*since = rc > 0 ? sqlite3_column_int64(q, 2) : 0;
	sqlite3_finalize(q);
	return rc < 0 ? -1 : 0;
}

static int read_nodes(struct order *order, struct order_exec *exec, int64_t call)
{
	struct order_exec old = *exec;
	sqlite3_stmt *q = NULL;
	int64_t since = 0;
	int rc = read_content(order, exec, call, &since);

	exec->node = NULL;
	exec->arc = NULL;
	exec->node_count = exec->arc_count = 0;
	exec->arcs_known = exec->acts = 0;
	if (!rc && exec->graph) {
		q = db_prepare(order->db, nodes_sql);
		rc = !q || db_bind(q, "iiiii", exec->graph, exec->created, exec->id, since, call)
			? -1
			: 0;
		while (!rc && (rc = db_step(q)) > 0)
			rc = add_node(order, exec, &old, q);
		sqlite3_finalize(q);
	}
	order_free_nodes(order, &old);
	return rc ? -1 : 0;
}

/* Reads the executable graph as of that call. */
static int read_exec(struct order *order, struct order_exec *exec, int64_t call)
{
	int rc;

	db_lock(order->db);
	rc = read_nodes(order, exec, call);
	db_unlock(order->db);
	return rc;
}

static struct order_exec *exec_of(struct order *order, int64_t id, int64_t call)
{
	struct order_exec *exec = id_map_get(&order->execs, id);

	if (exec)
		return exec;
	exec = order_need_exec(order, id);
	return exec && order->db && read_exec(order, exec, call) ? NULL : exec;
}

/* For cuGraphExecUpdate, and for calls that give a node of an executable graph another event. */
static int step_change(struct order *order, const struct walk_call *call)
{
	struct order_exec *exec = id_map_get(&order->execs, call->exec);

	if (!exec || !order->db || (kind_family(call->kind) == FAMILY_node_set && !call->event))
		return 0;
	return read_exec(order, exec, call->id);
}

/* --- paths within a graph --- */

static int read_arcs(struct order *order, struct order_exec *exec)
{
	sqlite3_stmt *q;
	int64_t(*arc)[2];
	int rc = -1;

	exec->arcs_known = 1;
	if (!order->db)
		return -1;
	db_lock(order->db);
	q = db_prepare(order->db, arcs_sql);
	if (!q || db_bind(q, "ii", exec->graph, exec->created))
		goto out;
	while ((rc = db_step(q)) > 0) {
		arc = array_push(exec->arc, exec->arc_count);
		(*arc)[0] = sqlite3_column_int64(q, 0);
		(*arc)[1] = sqlite3_column_int64(q, 1);
	}
out:
	sqlite3_finalize(q);
	db_unlock(order->db);
	return rc ? -1 : 0;
}

static size_t first_arc(const struct order_exec *exec, int64_t from)
{
	return sorted_from(exec->arc, exec->arc_count, sizeof(*exec->arc), 0, from);
}

/* A set of nodes, and those whose edges are still to be followed. */
struct search {
	struct id_map seen;
	int64_t *todo;
	size_t todo_count;
};

static void visit(struct search *search, int64_t node)
{
	if (id_map_get(&search->seen, node))
		return;
	id_map_put(&search->seen, node, search);
	*array_push(search->todo, search->todo_count) = node;
}

static void release_nothing(void *object)
{
	(void)object;
}

int order_path_in_graph(struct order *order, int64_t exec_id, int64_t from, int64_t to)
{
	struct order_exec *exec = id_map_get(&order->execs, exec_id);
	struct search search = { .todo = NULL };
	int found = 0;

	if (!exec || (!exec->arcs_known && read_arcs(order, exec)))
		return -1;
	visit(&search, from);
	while (!found && search.todo_count) {
		int64_t node = search.todo[--search.todo_count];

		for (size_t i = first_arc(exec, node);
			i < exec->arc_count && exec->arc[i][0] == node && !found; i++) {
			found = exec->arc[i][1] == to;
			visit(&search, exec->arc[i][1]);
		}
	}
	free(search.todo);
	id_map_release(&search.seen, release_nothing);
	return found;
}

/* --- launches --- */

/*
 * Sets *state to what a node comes after: the work before the graph, and the graph's nodes up to
 * it.  Adds a reference to its clock.
 */
static int state_at(struct order *order, const struct walk_call *call, struct order_exec *exec,
	const struct order_stream *stream, struct order_graph_node *node, struct order_state *state)
{
	*state = stream->before;
	state->call = call->id;
	state->start = 1;
	state->own = (struct order_epoch){ .key = node->key, .seq = order->epoch.seq };
	order_clock_ref(state->clock);
	order_clock_add(&order->joiner, &state->clock, NULL, &stream->before.own, ORDER_GUARANTEED);
	for (size_t i = 0; i < exec->node_count; i++) {
		struct order_graph_node *wait = &exec->node[i];
		int path = wait->act == GRAPH_WAITS
			? order_path_in_graph(order, exec->id, wait->node, node->node)
			: 0;

		if (path < 0)
			return -1;
		if (path)
			order_learn(order, &state->clock, NULL, &wait->state, ORDER_GUARANTEED);
	}
	return 0;
}

static int record(struct order *order, const struct walk_call *call, struct order_exec *exec,
	const struct order_stream *stream, struct order_graph_node *node)
{
	struct order_event *event = order_need_event(order, node->event);
	struct order_state state;
	int rc;

	if (!event)
		return -1;
	rc = state_at(order, call, exec, stream, node, &state);
	event->recorded = 1;
	event->record = call->id;
	event->stream = 0;
	order_keep(&event->state, state);
	order_clock_unref(state.clock);
	return rc;
}

/* Which of several host functions ran first is unknown: all had when the last one began. */
static int tell(struct order *order, const struct walk_call *call, struct order_exec *exec,
	const struct order_stream *stream, struct order_graph_node *node)
{
	struct order_state state;
	int rc;

	if (call->ran_last == WALK_NEVER)
		return 0;
	exec->acts = 1;
	rc = state_at(order, call, exec, stream, node, &state) ||
		order_report_run(order, call, call->ran_last, &state);
	order_clock_unref(state.clock);
	return rc ? -1 : 0;
}

/* Work after a wait inside is ordered after the event; the whole graph is not. */
static int wait_inside(struct order *order, const struct walk_call *call,
	struct order_stream *stream, struct order_graph_node *node)
{
	const struct order_event *event = id_map_get(&order->events, node->event);

	order_drop(&node->state);
	if (!event || event->foreign) {
		order_doubt(order, &stream->last.clock);
		order_doubt(order, &order->now);
		return 0;
	}
	if (!event->recorded)
		return 0;
	order_keep(&node->state, event->state);
	if (order_edge(order, call, &event->state, ORDER_AFTERWARDS))
		return -1;
	order_learn(order, &stream->last.clock, NULL, &event->state, ORDER_GUARANTEED);
	return 0;
}

static int act(struct order *order, const struct walk_call *call, struct order_exec *exec,
	struct order_stream *stream)
{
	int rc = 0;

	for (size_t i = 0; i < exec->node_count && !rc; i++) {
		if (exec->node[i].act == GRAPH_WAITS)
			rc = wait_inside(order, call, stream, &exec->node[i]);
		if (exec->node[i].act == GRAPH_EXTERNAL) {
			order_doubt(order, &stream->last.clock);
			order_doubt(order, &order->now);
		}
	}
	for (size_t i = 0; i < exec->node_count && !rc; i++) {
		if (exec->node[i].act == GRAPH_RECORDS)
			rc = record(order, call, exec, stream, &exec->node[i]);
		else if (exec->node[i].act == GRAPH_TELLS)
			rc = tell(order, call, exec, stream, &exec->node[i]);
	}
	return rc;
}

int order_step_graph(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream;
	struct order_exec *exec;

	if (call->kind == KIND_EXEC_DESTROY) {
		order_drop_exec(order, call->exec);
		return 0;
	}
	if (call->kind == KIND_EXEC_UPDATE || kind_family(call->kind) == FAMILY_node_set)
		return step_change(order, call);
	stream = order_need_stream(order, call);
	if (!stream)
		return call->stream ? -1 : 0;
	exec = call->exec ? exec_of(order, call->exec, call->id) : NULL;
	if (call->exec && !exec)
		return -1;
	if (exec && exec->last.call && exec->last.own.key != stream->last.own.key &&
		order_add_pending(order, stream, exec->last, ORDER_GRAPH))
		return -1;
	if (order_submit(order, stream, call, order_is_contested(stream, call)) ||
		order_tell_host(order, call, stream))
		return -1;
	if (!exec)
		return 0;
	order->exec = exec->id;
	if (kind_family(call->kind) == FAMILY_graph_launch && act(order, call, exec, stream))
		return -1;
	order_keep(&exec->last, stream->last);
	return 0;
}

/* --- questions --- */

/* Uses the records inside an earlier launch that come after a node. */
static int through_records(struct order *order, struct order_epoch earlier,
	const struct order_exec *from, int64_t node, const struct order_clock *clock,
	const struct order_epoch *own, enum order_strength *best)
{
	int path;

	for (size_t i = 0; i < from->node_count && *best < ORDER_GUARANTEED; i++) {
		struct order_epoch key = { .key = from->node[i].key, .seq = earlier.seq };
		enum order_strength strength =
			key.key ? order_strength(order, clock, own, &key) : ORDER_UNORDERED;

		if (strength <= *best)
			continue;
		path = order_path_in_graph(order, from->id, node, from->node[i].node);
		if (path < 0)
			return -1;
		if (path)
			*best = strength;
	}
	return 0;
}

int order_acts_in_graph(const struct order *order, int64_t exec_id)
{
	const struct order_exec *exec = exec_id ? id_map_get(&order->execs, exec_id) : NULL;

	return exec && exec->acts;
}

enum order_strength order_before_node(struct order *order, struct order_epoch earlier,
	int64_t earlier_exec, int64_t earlier_node, int64_t node)
{
	enum order_strength best = order_before(order, earlier), strength;
	struct order_exec *from = earlier_node ? id_map_get(&order->execs, earlier_exec) : NULL;
	struct order_exec *to = node ? id_map_get(&order->execs, order->exec) : NULL;

	if (from &&
		through_records(order, earlier, from, earlier_node, order->now, &order->now_own,
			&best))
		return ORDER_UNKNOWN;
	for (size_t i = 0; to && i < to->node_count && best < ORDER_GUARANTEED; i++) {
		const struct order_state *state = &to->node[i].state;
		int path;

		if (to->node[i].act != GRAPH_WAITS)
			continue;
		path = order_path_in_graph(order, to->id, to->node[i].node, node);
		if (path < 0)
			return ORDER_UNKNOWN;
		if (!path)
			continue;
		strength = order_strength(order, state->clock, &state->own, &earlier);
		if (strength > best)
			best = strength;
		if (from &&
			through_records(order, earlier, from, earlier_node, state->clock,
				&state->own, &best))
			return ORDER_UNKNOWN;
	}
	return best;
}
