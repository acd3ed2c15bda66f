/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"
#include "loop_turns.h"

enum {
	PLACES_TRIED = 12, /* of a thread */
	THREADS_TRIED = 8,
};

/* Places of one statement at which a thread arrives equally often: the first one of them. */
struct candidate {
	uint32_t node;
	const struct token_thread *own;
	size_t arrivals, first; /* first: token with the first arrival */
	size_t below;           /* tokens below one of the places */
	size_t turns;
	double covered;
	int is_loop;
};

struct search {
	struct tokens tokens;
	struct loop_paths paths;
	struct candidate *candidate; /* of a thread: descending by below */
	size_t count;
	/* Of the current thread, by node. */
	uint32_t *arrivals, *first, *below;
};

/* --- places --- */

/* Counts the arrivals of a thread at each node, and the tokens below it. */
static void count_arrivals(struct search *search, const struct token_thread *own)
{
	const struct loop_paths *paths = &search->paths;
	uint32_t before = 0;

	memset(search->arrivals, 0, paths->count * sizeof(*search->arrivals));
	memset(search->below, 0, paths->count * sizeof(*search->below));
	for (size_t i = 0; i < own->count; i++) {
		uint32_t leaf = paths->leaf[own->token[i].site], node = leaf, other = before;

		search->below[leaf]++;
		if (leaf == before)
			search->arrivals[leaf]++;
		for (; node != other; node = paths->node[node].parent) {
			while (paths->node[other].level > paths->node[node].level)
				other = paths->node[other].parent;
			if (node == other)
				break;
			if (!search->arrivals[node]++)
				search->first[node] = (uint32_t)i;
		}
		before = leaf;
	}
	for (size_t node = paths->count - 1; node; node--)
		search->below[paths->node[node].parent] += search->below[node];
}

static int more_below(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->below != y->below)
		return x->below < y->below ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* known: hash of parent, statement and arrivals -> number in list + 1 */
static int add_place(struct search *search, struct candidate **list, size_t *count,
	struct map *known, const struct candidate *place)
{
	const struct path_node *node = &search->paths.node[place->node];
	const uint64_t words[] = { node->parent, (uint64_t)node->loop, place->arrivals };
	uint64_t key = map_hash_words(words, 3), number = map_get(known, key, 0);
	struct candidate *more;

	if (number) {
		struct candidate *same = &(*list)[number - 1];

		same->below += place->below;
		if (place->first < same->first) {
			same->first = place->first;
			same->node = place->node;
		}
		return 0;
	}
	more = array_room(*list, *count, sizeof(*more));
	if (!more)
		return -1;
	*list = more;
	more[(*count)++] = *place;
	map_set(known, key, *count);
	return 0;
}

/* Keeps those places of a thread below which most of its tokens are. */
static int add_candidates(struct search *search, const struct token_thread *own)
{
	const struct loop_paths *paths = &search->paths;
	struct candidate *list = NULL;
	struct map known = { 0 };
	size_t count = 0;
	int rc = 0;

	count_arrivals(search, own);
	for (uint32_t node = 1; node < paths->count && !rc; node++) {
		uint32_t arrivals = search->arrivals[node];

		/* Where the parent's turns begin, too, it stands for both. */
		if (arrivals < LOOP_TURNS_LEAST ||
			arrivals == search->arrivals[paths->node[node].parent])
			continue;
		rc = add_place(search, &list, &count, &known,
			&(struct candidate){ .node = node,
				.own = own,
				.arrivals = arrivals,
				.first = search->first[node],
				.below = search->below[node] });
	}
	if (!rc && count)
		qsort(list, count, sizeof(*list), more_below);
	for (size_t i = 0; i < count && i < PLACES_TRIED && !rc; i++) {
		struct candidate *more =
			array_room(search->candidate, search->count, sizeof(*more));

		rc = more ? 0 : -1;
		if (!more)
			break;
		search->candidate = more;
		more[search->count++] = list[i];
	}
	free(list);
	map_release(&known);
	return rc;
}

/* --- the loop --- */

static int measure(struct search *search, struct candidate *candidate, int branches)
{
	struct turns turns = { 0 };
	int rc = turns_measure(&turns, &search->tokens, candidate->own, candidate->node, branches);

	candidate->turns = turns.count;
	candidate->covered = turns.covered;
	candidate->is_loop = turns.count >= LOOP_TURNS_LEAST && 2 * turns.covered >= turns.around &&
		LOOP_OWN_PART * turns.own_covered >= turns.own_around;
	free(turns.begin);
	return rc;
}

static int covers_as_much(const struct candidate *candidate, double covered)
{
	return candidate->is_loop && 100 * candidate->covered >= LOOP_NEARLY_PERCENT * covered;
}

static int is_further_out(const struct search *search, const struct candidate *candidate,
	const struct candidate *than)
{
	uint32_t level = search->paths.node[candidate->node].level;

	if (!than)
		return 1;
	if (level != search->paths.node[than->node].level)
		return level < search->paths.node[than->node].level;
	return candidate->covered > than->covered;
}

/*
 * The outermost one of those that cover the most.  A thread that runs the program's script drives
 * the others, so its loops count alone if they cover half of what any loop does: a backward
 * thread's turns go on in the script's second loop.
 */
static struct candidate *choose_outermost(struct search *search)
{
	struct candidate *chosen = NULL;
	double most[2] = { 0, 0 }; /* [1]: of threads with a script */
	int script;

	for (size_t i = 0; i < search->count; i++) {
		const struct candidate *candidate = &search->candidate[i];

		if (candidate->is_loop && candidate->covered > most[candidate->own->script != 0])
			most[candidate->own->script != 0] = candidate->covered;
	}
	script = most[1] > 0 && 2 * most[1] >= most[0];
	for (size_t i = 0; i < search->count; i++)
		if (!search->candidate[i].own->script == !script &&
			covers_as_much(&search->candidate[i], most[script]) &&
			is_further_out(search, &search->candidate[i], chosen))
			chosen = &search->candidate[i];
	return chosen;
}

static int is_same_statement(const struct search *search, const struct candidate *candidate,
	const struct candidate *other)
{
	const struct path_node *node = &search->paths.node[candidate->node];
	const struct path_node *others = &search->paths.node[other->node];

	return candidate->own == other->own && node->parent == others->parent &&
		node->loop == others->loop;
}

/*
 * The place of a statement with the most turns: others are not reached in all of its turns.
 * Without a source they may be those of an outer loop, unless they leave out half of the work.
 */
static int choose_place(struct search *search, struct candidate **chosen)
{
	const struct candidate *first = *chosen;

	for (size_t i = 0; i < search->count; i++) {
		struct candidate *other = &search->candidate[i];

		if (!is_same_statement(search, other, first) || other->turns <= (*chosen)->turns)
			continue;
		if (measure(search, other, 1))
			return -1;
		if (search->paths.node[other->node].loop ||
			(other->is_loop && 2 * other->covered >= first->covered))
			*chosen = other;
	}
	return 0;
}

/*
 * An epoch is a loop, too, but the step is meant: the loop in it that covers as much, if each turn
 * has more of its turns than there are turns.  A step has fewer layers than there are steps.
 */
static struct candidate *choose_nested(struct search *search, const struct candidate *outer,
	double covered)
{
	const struct loop_paths *paths = &search->paths;
	struct candidate *chosen = NULL;

	for (size_t i = 0; i < search->count; i++) {
		struct candidate *inner = &search->candidate[i];

		if (inner->own == outer->own && covers_as_much(inner, covered) &&
			loop_paths_is_below(paths, inner->node, paths->node[outer->node].parent) &&
			inner->turns > outer->turns * outer->turns &&
			(!chosen || inner->turns < chosen->turns))
			chosen = inner;
	}
	return chosen;
}

static int choose(struct search *search, struct candidate **chosen)
{
	struct candidate *next = choose_outermost(search);

	for (*chosen = NULL; next;) {
		double covered = next->covered;

		*chosen = next;
		if (choose_place(search, chosen))
			return -1;
		next = choose_nested(search, *chosen, covered);
	}
	return 0;
}

static uint32_t site_at(const struct candidate *chosen, int64_t begin)
{
	const struct token_thread *own = chosen->own;
	size_t at = 0;

	while (at + 1 < own->count && own->token[at].enter < begin)
		at++;
	return own->token[at].site;
}

static int is_named(const struct loop *loop, const char *place)
{
	int named = !strcmp(loop->place, place);

	for (size_t i = 0; i < loop->inner_count; i++)
		named |= !strcmp(loop->inner[i].place, place);
	return named;
}

/* Adds loops of the same thread that take place in the turns, one for a line. */
static int add_inner(struct loop *loop, struct search *search, const struct candidate *chosen,
	struct db *db)
{
	const struct loop_paths *paths = &search->paths;
	uint32_t outer = loop_paths_find_line(paths, chosen->node, 0);

	for (size_t i = 0; i < search->count && loop->inner_count < LOOP_INNER_MOST; i++) {
		const struct candidate *inner = &search->candidate[i];
		struct loop_inner *into = &loop->inner[loop->inner_count];

		if (inner->own != chosen->own ||
			inner->arrivals < LOOP_INNER_LEAST * chosen->arrivals ||
			LOOP_INNER_PART * inner->below < chosen->own->count)
			continue;
		into->site = inner->own->token[inner->first].site;
		into->turns = inner->arrivals;
		if (loop_paths_name(paths, db, loop_paths_find_line(paths, inner->node, outer),
			    into->site, into->place, sizeof(into->place)))
			return -1;
		loop->inner_count += !is_named(loop, into->place);
	}
	return 0;
}

static int set_loop(struct loop *loop, struct search *search, const struct candidate *chosen,
	struct db *db)
{
	struct turns turns = { 0 };

	if (turns_measure(&turns, &search->tokens, chosen->own, chosen->node, 1) ||
		turns_trim(&turns, &search->tokens)) {
		free(turns.begin);
		return -1;
	}
	loop->begin = turns.begin;
	loop->turns = turns.count;
	loop->thread = chosen->own->thread;
	if (!loop->turns)
		return 0;
	loop->site = site_at(chosen, loop->begin[0]);
	loop->warm = turns.warm;
	return loop_paths_name(&search->paths, db,
		       loop_paths_find_line(&search->paths, chosen->node, 0), loop->site,
		       loop->place, sizeof(loop->place)) ||
			add_inner(loop, search, chosen, db)
		? -1
		: 0;
}

static int make_room(struct search *search)
{
	size_t count = search->paths.count;

	search->arrivals = calloc(count, sizeof(*search->arrivals));
	search->first = calloc(count, sizeof(*search->first));
	search->below = calloc(count, sizeof(*search->below));
	if (search->arrivals && search->first && search->below)
		return 0;
	fputs("cufence: out of memory\n", stderr);
	return -1;
}

static int find(struct loop *loop, struct search *search, struct db *db)
{
	struct candidate *chosen;

	for (size_t i = 0; i < search->tokens.count && i < THREADS_TRIED; i++)
		if (add_candidates(search, &search->tokens.thread[i]))
			return -1;
	for (size_t i = 0; i < search->count; i++)
		if (measure(search, &search->candidate[i], 0))
			return -1;
	if (choose(search, &chosen))
		return -1;
	return chosen ? set_loop(loop, search, chosen, db) : 0;
}

int loop_find(struct loop *loop, const struct run *run, struct db *db, const uint32_t *threads,
	size_t count)
{
	struct search search = { .tokens = { .run = run } };
	int rc;

	*loop = (struct loop){ 0 };
	search.tokens.paths = &search.paths;
	rc = loop_paths_read(&search.paths, db, run->thread[*threads].process) ||
			tokens_read(&search.tokens, threads, count) || make_room(&search) ||
			find(loop, &search, db)
		? -1
		: 0;
	tokens_release(&search.tokens);
	loop_paths_release(&search.paths);
	free(search.candidate);
	free(search.arrivals);
	free(search.first);
	free(search.below);
	return rc;
}

void loop_release(struct loop *loop)
{
	free(loop->begin);
	*loop = (struct loop){ 0 };
}
