/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "constants.h"
#include "memory.h"

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
	struct visits {
		uint32_t arrivals, first, below; /* as of struct candidate */
	} * visits;                              /* of the current thread, by node */
};

/* --- places --- */

static int more_below(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return by_number((int64_t)y->below, (int64_t)x->below) ?: by_number(x->node, y->node);
}

/*
 * Keeps those places of a thread below which most of its tokens are.  Places of one statement with
 * as many arrivals are one.
 */
static void add_candidates(struct search *search, const struct token_thread *own)
{
	const struct path_node *nodes = search->paths.node;
	struct candidate *list = NULL;
	struct map known = { 0 }; /* hash of parent, statement and arrivals -> number in list */
	size_t count = 0;
	uint32_t before = 0;

	/* How often the thread arrives at each node, and its tokens below that. */
	memset(search->visits, 0, search->paths.count * sizeof(*search->visits));
	for (size_t i = 0; i < own->count; i++) {
		uint32_t leaf = search->paths.leaf[own->token[i].site], node = leaf, other = before;

		search->visits[leaf].below++;
		if (leaf == before)
			search->visits[leaf].arrivals++;
		for (; node != other; node = search->paths.node[node].parent) {
			while (search->paths.node[other].level > search->paths.node[node].level)
				other = search->paths.node[other].parent;
			if (node == other)
				break;
			if (!search->visits[node].arrivals++)
				search->visits[node].first = (uint32_t)i;
		}
		before = leaf;
	}
	for (size_t node = search->paths.count - 1; node; node--)
		search->visits[search->paths.node[node].parent].below += search->visits[node].below;
	for (uint32_t node = 1; node < search->paths.count; node++) {
		const struct visits *visits = &search->visits[node];
		uint32_t arrivals = visits->arrivals, parent = nodes[node].parent;
		const uint64_t words[] = { parent, (uint64_t)nodes[node].loop, arrivals };
		size_t number;

		/* Where the parent's turns begin, too, it stands for both. */
		if (arrivals < LOOP_TURNS_LEAST || arrivals == search->visits[parent].arrivals)
			continue;
		number = map_number(&known, map_hash_words(words, 3));
		if (number == count) {
			*array_push(list, count) = (struct candidate){ .node = node,
				.own = own,
				.arrivals = arrivals,
				.first = visits->first,
				.below = visits->below };
			continue;
		}
		list[number].below += visits->below;
		if (visits->first < list[number].first) {
			list[number].first = visits->first;
			list[number].node = node;
		}
	}
	if (count)
		qsort(list, count, sizeof(*list), more_below);
	for (size_t i = 0; i < count && i < PLACES_TRIED; i++)
		*array_push(search->candidate, search->count) = list[i];
	free(list);
	map_release(&known);
}

/* --- the loop --- */

static void measure(struct search *search, struct candidate *candidate, int branches)
{
	struct turns turns;

	turns_measure(&turns, &search->tokens, candidate->own, candidate->node, branches);
	candidate->turns = turns.run.turns;
	candidate->covered = turns.covered;
	candidate->is_loop = turns.run.turns >= LOOP_TURNS_LEAST &&
		2 * turns.covered >= turns.around &&
		LOOP_OWN_PART * turns.own_covered >= turns.own_around;
	free(turns.run.begin);
}

static int covers_as_much(const struct candidate *candidate, double covered)
{
	return candidate->is_loop && 100 * candidate->covered >= LOOP_NEARLY_PERCENT * covered;
}

/*
 * The outermost one of those that cover the most.  A thread that runs the program's script drives
 * the others, so its loops count alone if they cover half of what any loop does: a backward
 * thread's turns go on in the script's second loop.
 */
static struct candidate *choose_outermost(struct search *search)
{
	const struct path_node *nodes = search->paths.node;
	struct candidate *chosen = NULL;
	double most[2] = { 0, 0 }; /* [1]: of threads with a script */
	int script;

	for (size_t i = 0; i < search->count; i++) {
		const struct candidate *candidate = &search->candidate[i];

		if (candidate->is_loop && candidate->covered > most[candidate->own->script != 0])
			most[candidate->own->script != 0] = candidate->covered;
	}
	script = most[1] > 0 && 2 * most[1] >= most[0];
	for (size_t i = 0; i < search->count; i++) {
		struct candidate *candidate = &search->candidate[i];
		uint32_t level = nodes[candidate->node].level;

		if (!candidate->own->script != !script || !covers_as_much(candidate, most[script]))
			continue;
		if (!chosen || level < nodes[chosen->node].level ||
			(level == nodes[chosen->node].level &&
				candidate->covered > chosen->covered))
			chosen = candidate;
	}
	return chosen;
}

/*
 * Whether a nested loop has many times more turns, and hardly anything follows it in the turns of
 * the outer one: what comes before it is set-up, as in a main() that is called three times.  After
 * a step's layers comes the rest of it.
 */
static int ends_the_turns(struct search *search, const struct candidate *inner,
	const struct candidate *outer)
{
	const struct token_thread *own = outer->own;
	struct turns of_outer, of_inner;
	double behind = 0, all = 0, rest = 0;
	size_t turn = 0;

	if (inner->turns < LOOP_SET_UP_TIMES * outer->turns * outer->turns)
		return 0;
	turns_measure(&of_outer, &search->tokens, own, outer->node, 1);
	turns_measure(&of_inner, &search->tokens, own, inner->node, 1); /* what is typical of it */
	for (size_t i = of_outer.first; i < of_outer.end; i++) {
		const struct token *token = &own->token[i];

		for (; turn + 1 < of_outer.run.turns &&
			token->enter >= of_outer.run.begin[turn + 1];
			turn++) {
			rest += behind;
			behind = 0;
		}
		all += (double)token->weight;
		behind = search->tokens.typical[token->site] ? 0 : behind + (double)token->weight;
	}
	free(of_outer.run.begin);
	free(of_inner.run.begin);
	return 100 * (rest + behind) <= (100 - LOOP_NEARLY_PERCENT) * all;
}

/*
 * An epoch is a loop, too, but the step is meant: the loop in it that covers as much, or half and
 * all that follows, if each turn has more of its turns than there are turns.  A step has fewer
 * layers than there are steps.
 */
static struct candidate *choose_nested(struct search *search, const struct candidate *outer,
	double covered)
{
	const struct loop_paths *paths = &search->paths;
	struct candidate *chosen = NULL;

	for (size_t i = 0; i < search->count; i++) {
		struct candidate *inner = &search->candidate[i];

		if (inner->own == outer->own && inner->is_loop && 2 * inner->covered >= covered &&
			loop_paths_is_below(paths, inner->node, paths->node[outer->node].parent) &&
			inner->turns > outer->turns * outer->turns &&
			(!chosen || inner->turns < chosen->turns) &&
			(covers_as_much(inner, covered) || ends_the_turns(search, inner, outer)))
			chosen = inner;
	}
	return chosen;
}

static int set_loop(struct loop *loop, struct search *search, const struct candidate *chosen,
	struct db *db)
{
	const struct token *token = chosen->own->token, *last = token + chosen->own->count - 1;
	const struct loop_paths *paths = &search->paths;
	uint32_t line = loop_paths_find_line(paths, chosen->node, 0);
	struct turns turns;

	turns_measure(&turns, &search->tokens, chosen->own, chosen->node, 1);
	turns_trim(&turns, &search->tokens, line);
	loop->run = turns.run;
	if (!loop->run.turns)
		return 0;
	while (token < last && token->enter < loop->run.begin[0])
		token++;
	loop->site = token->site;
	loop->warm = turns.warm;
	if (loop_paths_name(paths, db, line, loop->site, loop->place, sizeof(loop->place)))
		return -1;
	/* Loops of the same thread that take place in the turns, one for a line. */
	for (size_t i = 0; i < search->count && loop->inner_count < LOOP_INNER_MOST; i++) {
		const struct candidate *inner = &search->candidate[i];
		struct loop_inner *into = &loop->inner[loop->inner_count];
		int is_named;

		if (inner->own != chosen->own ||
			inner->arrivals < LOOP_INNER_LEAST * chosen->arrivals ||
			LOOP_INNER_PART * inner->below < chosen->own->count)
			continue;
		into->site = inner->own->token[inner->first].site;
		into->turns = inner->arrivals;
		if (loop_paths_name(paths, db, loop_paths_find_line(paths, inner->node, line),
			    into->site, into->place, sizeof(into->place)))
			return -1;
		is_named = !strcmp(loop->place, into->place);
		for (size_t k = 0; k < loop->inner_count; k++)
			is_named |= !strcmp(loop->inner[k].place, into->place);
		loop->inner_count += !is_named;
	}
	return 0;
}

int loop_find(struct loop *loop, const struct run *run, struct db *db, const uint32_t *threads,
	size_t count)
{
	struct search search = { .tokens = { .run = run, .paths = &search.paths } };
	struct candidate *chosen = NULL, *next;
	int rc;

	*loop = (struct loop){ 0 };
	db_lock(db);
	rc = loop_paths_read(&search.paths, db, run->thread[*threads].process);
	db_unlock(db);
	tokens_read(&search.tokens, threads, count);
	search.visits = xcalloc(search.paths.count, sizeof(*search.visits));
	for (size_t i = 0; i < search.tokens.count && i < THREADS_TRIED; i++)
		add_candidates(&search, &search.tokens.thread[i]);
	for (size_t i = 0; i < search.count; i++)
		measure(&search, &search.candidate[i], 0);
	for (next = choose_outermost(&search); next;) {
		double covered = next->covered;

		/*
		 * The place of a statement with the most turns: others are not reached in all of
		 * its turns.  Without a source they may be those of an outer loop, unless they
		 * leave out half of the work.
		 */
		chosen = next;
		for (size_t i = 0; i < search.count; i++) {
			struct candidate *other = &search.candidate[i];
			const struct path_node *node = &search.paths.node[other->node];
			const struct path_node *first = &search.paths.node[next->node];

			if (other->own != next->own || node->parent != first->parent ||
				node->loop != first->loop || other->turns <= chosen->turns)
				continue;
			measure(&search, other, 1);
			if (node->loop || (other->is_loop && 2 * other->covered >= next->covered))
				chosen = other;
		}
		next = choose_nested(&search, chosen, covered);
	}
	if (!rc && chosen) {
		db_lock(db);
		rc = set_loop(loop, &search, chosen, db);
		db_unlock(db);
	}
	tokens_release(&search.tokens);
	loop_paths_release(&search.paths);
	free(search.candidate);
	free(search.visits);
	return rc;
}

void loop_release(struct loop *loop)
{
	free(loop->run.begin);
	free(loop->run.pause);
	*loop = (struct loop){ 0 };
}
