/* SPDX-License-Identifier: Apache-2.0 */
#include "order_path.h"

#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "id_map.h"
#include "large.h"
#include "memory.h"
#include "run_columns.h"
#include "sorted.h"

/* Maximum steps of order_path_exists(), which then says yes: a wait then counts as needed. */
#define PATH_STEPS 4096

/* A call that was reached, and by which edge. */
struct reached {
	int64_t call;
	int complete;
	size_t from; /* index of the later call */
	enum order_reason reason;
};

struct apart {
	int64_t first, last;
};

static const struct run_edge no_edge;

struct order_path {
	const struct run *run;
	struct run *own;
	struct apart *apart; /* table apart, sorted */
	size_t apart_count;
	sqlite3_stmt *needs; /* asked if the run has no edges */
	struct run_edge *row;
	size_t row_count;
	struct reached *list; /* in the order of the search */
	size_t count;
	struct id_map seen; /* call * 2 + complete */
	int64_t unreached;  /* the call that none of the list leads to, 0: unknown */
	uint32_t *turn;     /* by call: find_turn(), 0: not asked for; NULL: none was */
};

static int read_apart(struct order_path *path, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT first, last FROM apart ORDER BY first");
	int rc = -1;

	while (q && (rc = db_step(q)) > 0) {
		*array_push(path->apart, path->apart_count) =
			(struct apart){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1) };
	}
	sqlite3_finalize(q);
	return rc ? -1 : 0;
}

struct order_path *order_path_open(struct db *db)
{
	struct order_path *path = xcalloc(1, sizeof(*path));

	path->run = run_of(db, &path->own);
	path->needs = db_prepare(db,
		"SELECT needs, reason FROM edge "
		"WHERE call = ? AND needs >= ? ORDER BY needs DESC");
	if (path->run && path->needs && !read_apart(path, db))
		return path;
	order_path_close(path);
	return NULL;
}

/* As the statement has them. */
static int by_call(const struct run_edge *a, const struct run_edge *b)
{
	return by_number(a->call, b->call) ?: by_number(b->needs, a->needs)
		?: strcmp(order_reason_names[b->reason], order_reason_names[a->reason]);
}

/* They are in order of call, so that each is near its place. */
void order_path_sort_edges(struct run_evidence *evidence)
{
	struct run_edge *edge = evidence->edge;

	for (size_t i = 1; i < evidence->edge_count; i++) {
		struct run_edge one = edge[i];
		size_t at = i;

		for (; at && by_call(&edge[at - 1], &one) > 0; at--)
			edge[at] = edge[at - 1];
		edge[at] = one;
	}
	evidence->has_edges = 1;
}

static void free_nothing(void *object)
{
	(void)object;
}

static void forget(struct order_path *path)
{
	id_map_release(&path->seen, free_nothing);
	free(path->list);
	path->list = NULL;
	path->count = 0;
	path->unreached = 0;
}

/* Calls reached since then may lead to the earlier call. */
static void forget_since(struct order_path *path, size_t count)
{
	while (path->count > count) {
		const struct reached *last = &path->list[--path->count];

		id_map_take(&path->seen, 2 * last->call + last->complete);
	}
}

void order_path_close(struct order_path *path)
{
	if (!path)
		return;
	forget(path);
	large_free(path->turn);
	sqlite3_finalize(path->needs);
	free(path->row);
	run_close(path->own);
	free(path->apart);
	free(path);
}

static enum order_reason reason_of(const char *name)
{
	for (int i = 0; i < ORDER_REASONS; i++)
		if (!strcmp(order_reason_names[i], name))
			return (enum order_reason)i;
	return ORDER_REASONS;
}

static void reach(struct order_path *path, const struct reached *reached)
{
	int64_t id = 2 * reached->call + reached->complete;

	if (id_map_get(&path->seen, id))
		return;
	id_map_put(&path->seen, id, path);
	*array_push(path->list, path->count) = *reached;
}

/* Conditions of a search. */
struct terms {
	int64_t earlier;
	enum order_strength strength;
	int by_host;          /* edges by host waits may be used */
	const int64_t *moved; /* calls moved to streams of their own */
	size_t moved_count;
	size_t steps;    /* maximum; 0: unlimited */
	int only_exists; /* the path's calls are not asked for */
};

static int is_moved(const struct terms *terms, int64_t call)
{
	for (size_t i = 0; i < terms->moved_count; i++)
		if (terms->moved[i] == call)
			return 1;
	return 0;
}

static int may_follow(const struct terms *terms, const struct reached *at, enum order_reason reason)
{
	if (reason == ORDER_REASONS || order_reason_strength[reason] < terms->strength)
		return 0;
	if (reason == ORDER_HOST && !terms->by_host)
		return 0;
	if ((reason == ORDER_LEGACY || reason == ORDER_STREAM) && is_moved(terms, at->call))
		return 0;
	return reason != ORDER_AFTERWARDS || at->complete;
}

/* Returns the previous work in the call's stream, if the call is ordered after it; else 0. */
static int64_t before_in_stream(const struct order_path *path, int64_t call)
{
	size_t low = sorted_after(path->apart, path->apart_count, sizeof(*path->apart),
		offsetof(struct apart, first), call);

	if (!run_call(path->run, call))
		return 0;
	return low && path->apart[low - 1].last >= call ? 0 : run_link(path->run, call)->before;
}

/* Reads the edges of a call from the database.  Returns 0, or -1 after a message. */
static int read_edges(struct order_path *path, int64_t call, int64_t earlier)
{
	int rc = db_bind(path->needs, "ii", call, earlier) ? -1 : 1;

	path->row_count = 0;
	while (rc > 0 && (rc = db_step(path->needs)) > 0)
		*array_push(path->row, path->row_count) = (struct run_edge){
			.call = (uint32_t)call,
			.needs = (uint32_t)sqlite3_column_int64(path->needs, 0),
			.reason = reason_of((const char *)sqlite3_column_text(path->needs, 1)),
		};
	sqlite3_reset(path->needs);
	return rc;
}

/*
 * Returns the edges of a call to those from earlier on, the latest first, valid until others are
 * asked for; NULL after a message.
 */
static const struct run_edge *edges_of(struct order_path *path, int64_t call, int64_t earlier,
	size_t *count)
{
	const struct run_evidence *evidence = &path->run->evidence;
	size_t first, end;

	if (!evidence->has_edges) {
		if (read_edges(path, call, earlier))
			return NULL;
		*count = path->row_count;
		return path->row_count ? path->row : &no_edge;
	}
	first = end = sorted_number(evidence->edge, evidence->edge_count, sizeof(*evidence->edge),
		offsetof(struct run_edge, call), (uint32_t)call);
	while (end < evidence->edge_count && evidence->edge[end].call == call &&
		evidence->edge[end].needs >= earlier)
		end++;
	*count = end - first;
	return *count ? evidence->edge + first : &no_edge;
}

/* Is the work before it in its stream all that a call is ordered after, but for host waits? */
static int is_plain(struct order_path *path, int64_t call)
{
	const struct run_edge *edge;
	size_t count;
	int plain = 1;

	if (!before_in_stream(path, call))
		return 0;
	edge = edges_of(path, call, 0, &count);
	for (size_t i = 0; edge && i < count && plain; i++)
		plain = edge[i].reason == ORDER_HOST || edge[i].reason == ORDER_REASONS ||
			order_reason_strength[edge[i].reason] < ORDER_GUARANTEED;
	return edge ? plain : -1;
}

/*
 * Returns the first call of the stream, from this one back, that is not plain; -1 after a message.
 * A stream of thousands of calls is followed once, not for each of those that ask.
 */
static int64_t find_turn(struct order_path *path, int64_t call)
{
	int64_t at = call, turn;
	int plain = 1;

	if (!path->turn)
		path->turn = large_zeroed(run_call_end(path->run), sizeof(*path->turn));
	while (!path->turn[at] && (plain = is_plain(path, at)) > 0)
		at = before_in_stream(path, at);
	if (plain < 0)
		return -1;
	turn = path->turn[at] ? path->turn[at] : at;
	for (int64_t id = call; !path->turn[id]; id = before_in_stream(path, id))
		path->turn[id] = (uint32_t)turn;
	return turn;
}

/* Is a call one of those from the turn to the call? */
static int is_between(struct order_path *path, int64_t call, int64_t turn, int64_t last)
{
	return call >= turn && call <= last && path->turn[call] == turn;
}

/* Returns the next call from this one back in its stream at which the search has to decide. */
static int64_t skip_plain(struct order_path *path, const struct terms *terms, int64_t call)
{
	int64_t turn = find_turn(path, call), next = turn;

	if (turn < 0)
		return -1;
	if (is_between(path, terms->earlier, turn, call))
		next = terms->earlier;
	for (size_t i = 0; i < terms->moved_count; i++)
		if (terms->moved[i] > next && is_between(path, terms->moved[i], turn, call))
			next = terms->moved[i];
	return next;
}

static void follow(struct order_path *path, const struct terms *terms, size_t from, int64_t call,
	enum order_reason reason)
{
	struct reached at = path->list[from], next = { call, reason != ORDER_START, from, reason };

	if (may_follow(terms, &at, reason))
		reach(path, &next);
}

/* Follows the edges of a call, to the latest call first. */
static int follow_edges(struct order_path *path, const struct terms *terms, size_t from)
{
	int64_t call = path->list[from].call, before = before_in_stream(path, call);
	const struct run_edge *edge;
	size_t count;

	if (before >= terms->earlier && terms->only_exists)
		before = skip_plain(path, terms, before);
	if (before < 0)
		return -1;
	before = before >= terms->earlier ? before : 0;
	edge = edges_of(path, call, terms->earlier, &count);
	for (size_t i = 0; edge && i < count; i++) {
		if (before > edge[i].needs)
			follow(path, terms, from, before, ORDER_STREAM);
		before = before > edge[i].needs ? 0 : before;
		follow(path, terms, from, edge[i].needs, (enum order_reason)edge[i].reason);
	}
	if (edge && before)
		follow(path, terms, from, before, ORDER_STREAM);
	return edge ? 0 : -1;
}

/*
 * Sets *found to the earlier call's index in the list, SIZE_MAX if there is no path.  Calls already
 * in the list do not lead there.
 */
static int search(struct order_path *path, int64_t call, const struct terms *terms, size_t *found)
{
	struct reached first = { .call = call, .from = path->count };
	size_t begun = path->count;

	*found = SIZE_MAX;
	reach(path, &first);
	for (size_t i = begun; i < path->count; i++) {
		if (path->list[i].call == terms->earlier && path->list[i].complete) {
			*found = i;
			return 0;
		}
		if (terms->steps && path->count - begun > terms->steps) {
			*found = begun;
			return 0;
		}
		if (follow_edges(path, terms, i))
			return -1;
	}
	return 0;
}

int order_path_exists(struct order_path *path, int64_t call, int64_t earlier)
{
	struct terms terms = { .earlier = earlier,
		.strength = ORDER_GUARANTEED,
		.steps = PATH_STEPS,
		.only_exists = 1 };
	size_t found, before;

	if (call == earlier)
		return 1;
	if (path->unreached != earlier)
		forget(path);
	before = path->count;
	if (search(path, call, &terms, &found)) {
		forget(path);
		return -1;
	}
	if (found != SIZE_MAX)
		forget_since(path, before);
	path->unreached = earlier;
	return found != SIZE_MAX;
}

int order_path_exists_moved(struct order_path *path, int64_t call, int64_t earlier,
	const int64_t *moved, size_t count)
{
	struct terms terms = { .earlier = earlier,
		.strength = ORDER_GUARANTEED,
		.moved = moved,
		.moved_count = count,
		.steps = PATH_STEPS,
		.only_exists = 1 };
	size_t found;

	if (call == earlier)
		return 1;
	forget(path);
	return search(path, call, &terms, &found) ? -1 : found != SIZE_MAX;
}

int order_path_find(struct order_path *path, int64_t call, int64_t earlier,
	enum order_strength strength, struct order_link **link, size_t *count)
{
	struct terms terms = { .earlier = earlier, .strength = strength, .by_host = 1 };
	size_t at;

	*link = NULL;
	*count = 0;
	forget(path);
	if (search(path, call, &terms, &at))
		return -1;
	if (at == SIZE_MAX)
		return 0;
	for (; at; at = path->list[at].from) {
		const struct reached *reached = &path->list[at];

		*array_push(*link, *count) =
			(struct order_link){ .call = path->list[reached->from].call,
				.needs = reached->call,
				.reason = reached->reason };
	}
	return 1;
}
