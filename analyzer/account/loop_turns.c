/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "constants.h"
#include "id_map.h"
#include "large.h"
#include "radix_sort.h"
#include "memory.h"
#include "sorted.h"
#include "unknown.h"

/* --- tokens --- */

/* The site of the program's own, outermost call counts. */
static uint32_t site_of(const struct run *run, uint32_t id)
{
	const struct run_link *link = run_link(run, id);

	if (!link->site && run_call(run, link->parent))
		link = run_link(run, link->parent);
	return link->site;
}

static int submits_or_waits(const struct run_call *call)
{
	return kind_has(call->kind, K_WORK) || kind_family(call->kind) == FAMILY_wait;
}

/*
 * About the square root of the ns in which the device ran a call's operations: one long operation
 * is not as much as a loop of short ones.
 */
static double device_time(const struct run *run, const struct run_call *call)
{
	uint64_t sum = 0;

	for (uint32_t id = 0; (id = run_next_work(run, call, id));)
		if (run_work(run, id)->duration < DURATION_LONG)
			sum += run_work(run, id)->duration;
	return sum ? (double)(UINT64_C(1) << (64 - __builtin_clzll(sum)) / 2) : 0;
}

/* Threads below a script first, those that submit and wait more before others. */
static int by_lead(const void *a, const void *b)
{
	const struct token_thread *x = a, *y = b;

	return by_number(!x->script, !y->script)
		?: by_number((int64_t)y->count, (int64_t)x->count)
		?: by_number(x->thread, y->thread);
}

void tokens_read(struct tokens *tokens, const uint32_t *threads, size_t count)
{
	const struct run *run = tokens->run;
	double device = 0;
	size_t all = 0;

	tokens->thread = xcalloc(count, sizeof(*tokens->thread));
	for (size_t i = 0; i < count; i++) {
		struct token_thread *thread = &tokens->thread[tokens->count];
		int64_t since = unknown_since(run, run->thread[threads[i]].process);
		uint32_t id = run->thread[threads[i]].first;

		thread->thread = threads[i];
		for (; id; id = run_link(run, id)->next) {
			const struct run_call *call = run_call(run, id);
			uint32_t site, leaf;

			if (!call || !submits_or_waits(call))
				continue;
			site = site_of(run, id);
			if (!site || call->enter >= since || run_object(run, id, OBJECT_CAPTURED))
				continue;
			*large_push(thread->token, thread->count) =
				(struct token){ .enter = call->enter,
					.site = site,
					.call = id,
					.weight = (float)device_time(run, call) };
			leaf = loop_paths_leaf(tokens->paths, site);
			thread->script += tokens->paths->node[leaf].is_below_own;
			if (site >= tokens->site_end)
				tokens->site_end = site + 1;
		}
		tokens->count += thread->count > 0;
		all += thread->count;
		for (size_t k = 0; k < thread->count; k++)
			device += (double)thread->token[k].weight;
	}
	/* Each token weighs its part of all tokens, and of the device's time. */
	tokens->each = 1 / (double)all;
	for (size_t i = 0; i < tokens->count; i++) {
		struct token_thread *thread = &tokens->thread[i];

		for (size_t k = 0; k < thread->count; k++) {
			double part = device > 0 ? (double)thread->token[k].weight / device : 0;

			thread->token[k].weight = (float)(tokens->each + part);
			thread->weight += (double)thread->token[k].weight;
		}
	}
	qsort(tokens->thread, tokens->count, sizeof(*tokens->thread), by_lead);
	tokens->tally = xcalloc(tokens->site_end, sizeof(*tokens->tally));
	tokens->listed = xcalloc(tokens->site_end, sizeof(*tokens->listed));
	tokens->inside = xcalloc(tokens->site_end, 1);
	tokens->typical = xcalloc(tokens->site_end, 1);
}

void tokens_release(struct tokens *tokens)
{
	for (size_t i = 0; i < tokens->count; i++)
		large_free(tokens->thread[i].token);
	free(tokens->thread);
	free(tokens->tally);
	free(tokens->listed);
	free(tokens->inside);
	free(tokens->typical);
}

/* --- turns --- */

static size_t most_of(size_t count)
{
	return (LOOP_TYPICAL_PERCENT * count + 99) / 100;
}

static void begin_tally(struct tokens *tokens)
{
	for (size_t i = 0; i < tokens->listed_count; i++)
		tokens->tally[tokens->listed[i]] = (struct tally){ 0 };
	tokens->listed_count = 0;
}

static void add_to_tally(struct tokens *tokens, const struct token *token, size_t turn)
{
	struct tally *tally = &tokens->tally[token->site];

	if (!tally->last)
		tokens->listed[tokens->listed_count++] = token->site;
	if (tally->last != turn + 1) {
		tally->last = (uint32_t)turn + 1;
		tally->turns++;
	}
	tally->weight += (double)token->weight;
}

/* Returns the turn of a token that comes after those of an earlier turn. */
static size_t turn_of(const struct turns *turns, const struct token *token, size_t turn)
{
	while (turn + 1 < turns->run.turns && token->enter >= turns->run.begin[turn + 1])
		turn++;
	return turn;
}

static void extend_last(struct turns *turns, const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	int64_t exit = run_exit(run, call, id);
	int64_t *end = &turns->run.begin[turns->run.turns];

	exit = exit == RUN_NEVER ? call->enter : exit;
	*end = at_least(exit, *end);
}

/*
 * Counts the own sites in each turn.  The last turn ends with its calls, and takes at most
 * LOOP_LAST_TIMES the mean of the others.  It goes on to the first call at a site without an
 * earlier turn; bound is the time of that.
 */
static void tally_own(struct turns *turns, struct tokens *tokens)
{
	const struct token_thread *own = turns->own;
	const struct token *token = own->token + turns->first;
	const struct token *end = own->token + own->count;
	size_t turn = 0;
	int64_t last;

	turns->run.begin =
		array_grown(turns->run.begin, turns->run.turns, sizeof(*turns->run.begin));
	last = turns->run.begin[turns->run.turns] = turns->run.begin[turns->run.turns - 1];
	turns->bound =
		last + LOOP_LAST_TIMES * (last - turns->run.begin[0]) / (int64_t)turns->run.turns;
	begin_tally(tokens);
	for (; token < end; token++) {
		turn = turn_of(turns, token, turn);
		if (turn + 1 == turns->run.turns) {
			if (token->enter > turns->bound || !tokens->tally[token->site].turns)
				break;
			extend_last(turns, tokens->run, token->call);
		}
		add_to_tally(tokens, token, turn);
	}
	turns->end = (size_t)(token - own->token);
	if (token < end && token->enter < turns->bound)
		turns->bound = token->enter;
}

static int is_branch(const struct turns *turns, const struct tally *tally)
{
	return tally->turns < most_of(turns->run.turns) && tally->turns >= LOOP_TURNS_LEAST &&
		tally->turns * LOOP_BRANCHES_MOST >= turns->run.turns;
}

/* Whether most turns of the own thread have a site that others lack. */
static int are_branches(const struct turns *turns, const struct tokens *tokens)
{
	size_t turn = 0, counted = 0, with = 0;

	for (size_t i = turns->first; i < turns->end; i++) {
		const struct token *token = &turns->own->token[i];

		turn = turn_of(turns, token, turn);
		if (counted == turn + 1 || !is_branch(turns, &tokens->tally[token->site]))
			continue;
		counted = turn + 1;
		with++;
	}
	return with >= most_of(turns->run.turns);
}

/* Sites that are typical of the own thread's turns are so in a thread that runs the same loop. */
static double covered_of(struct turns *turns, struct tokens *tokens, int is_own, int branches)
{
	double covered = 0;

	for (size_t i = 0; i < tokens->listed_count; i++) {
		const struct tally *tally = &tokens->tally[tokens->listed[i]];
		uint8_t *typical = &tokens->typical[tokens->listed[i]];
		int is_typical = tally->turns >= most_of(turns->run.turns);

		if (is_own)
			*typical = (uint8_t)is_typical;
		if (is_typical || *typical || (branches && is_branch(turns, tally)))
			covered += tally->weight;
		turns->around += tally->weight;
	}
	return covered;
}

void turns_measure(struct turns *turns, struct tokens *tokens, const struct token_thread *own,
	uint32_t node, int branches)
{
	const struct loop_paths *paths = tokens->paths;
	int is_leaf = paths->node[node].is_leaf, was_inside = 0;

	*turns = (struct turns){ .own = own, .run.thread = own->thread };
	for (uint32_t site = 0; site < tokens->site_end; site++)
		tokens->inside[site] = site < paths->leaf_end && paths->leaf[site] &&
			loop_paths_is_below(paths, paths->leaf[site], node);
	for (size_t i = 0; i < own->count; i++) {
		int is_inside = tokens->inside[own->token[i].site];

		if (is_inside && (is_leaf || !was_inside)) {
			turns->first = turns->run.turns ? turns->first : i;
			*array_push(turns->run.begin, turns->run.turns) = own->token[i].enter;
		}
		was_inside = is_inside;
	}
	if (!turns->run.turns)
		return;
	tally_own(turns, tokens);
	memset(tokens->typical, 0, tokens->site_end);
	turns->own_covered = covered_of(turns, tokens, 1, branches && are_branches(turns, tokens));
	turns->covered = turns->own_covered;
	/*
	 * What a thread does until the first turn ends and not again, such as compiling and tuning,
	 * is set-up: the number of these calls says nothing about the loop, what the device does
	 * for them may.
	 */
	turns->own_around = own->weight;
	for (size_t i = 0; i < own->count && own->token[i].enter < turns->run.begin[1]; i++) {
		if (tokens->tally[own->token[i].site].last > 1)
			continue;
		turns->own_around -= tokens->each;
		turns->around -= i < turns->first ? 0 : tokens->each;
	}
	if (LOOP_OWN_PART * turns->own_covered < turns->own_around)
		return;
	for (size_t i = 0; i < tokens->count; i++) {
		const struct token_thread *thread = &tokens->thread[i];
		size_t turn, at;

		if (thread == own)
			continue;
		/* Their calls are part of the last turn, too, such as those of a backward pass. */
		begin_tally(tokens);
		at = sorted_from(thread->token, thread->count, sizeof(*thread->token),
			offsetof(struct token, enter), turns->run.begin[0]);
		for (turn = 0; at < thread->count && thread->token[at].enter < turns->bound; at++) {
			const struct token *token = &thread->token[at];

			turn = turn_of(turns, token, turn);
			if (turn + 1 == turns->run.turns && !tokens->tally[token->site].turns)
				continue;
			if (turn + 1 == turns->run.turns)
				extend_last(turns, tokens->run, token->call);
			add_to_tally(tokens, token, turn);
		}
		turns->covered += covered_of(turns, tokens, 0, 0);
	}
}

/* --- both ends of a loop --- */

/* The calls after the last token that the turn before made, too, such as cudaFree. */
static void add_last_calls(struct turns *turns, const struct tokens *tokens)
{
	const struct run *run = tokens->run;
	int64_t last = turns->run.begin[turns->run.turns - 1],
		before = turns->run.begin[turns->run.turns - 2];
	struct map made = { 0 };

	for (uint32_t id = turns->own->token[turns->first].call; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);
		uint32_t site = call ? site_of(run, id) : 0;

		if (!site || call->enter < before)
			continue;
		if (call->enter < last)
			map_set(&made, site, 1);
		else if (call->enter >= turns->bound || !map_get(&made, site, 0))
			break;
		else
			extend_last(turns, run, id);
	}
	map_release(&made);
}

/* How many turns have calls at a site, and how many of them are long. */
struct presence {
	size_t turns, long_turns, last; /* last: the last one of them + 1 */
};

/*
 * Finds the sites of the body: those in the loop's statement.  Where no source says which these
 * are, sites are outside that are hardly in other turns than those longer than that, ns.
 */
static void find_body(const struct turns *turns, const struct tokens *tokens, uint32_t line,
	int64_t long_turn, struct map *body)
{
	const struct run *run = tokens->run;
	const struct path_node *nodes = tokens->paths->node;
	struct id_map sites = { 0 };
	size_t turn = 0;

	for (uint32_t id = turns->own->token[turns->first].call; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);
		struct presence *site;

		if (!call || call->enter < turns->run.begin[0])
			continue;
		while (turn < turns->run.turns && call->enter >= turns->run.begin[turn + 1])
			turn++;
		if (turn == turns->run.turns)
			break;
		site = id_map_need(&sites, site_of(run, id), sizeof(*site));
		if (site->last == turn + 1)
			continue;
		site->last = turn + 1;
		site->turns++;
		site->long_turns += turns->run.begin[turn + 1] - turns->run.begin[turn] > long_turn;
	}
	for (struct id_map_slot *at = NULL; (at = id_map_next(&sites, at));) {
		const struct presence *site = at->object;
		uint32_t of = (uint32_t)at->id;
		uint32_t node = of < tokens->paths->leaf_end ? tokens->paths->leaf[of] : 0;

		while (nodes[node].level > nodes[line].level)
			node = nodes[node].parent;
		if (nodes[line].loop ? nodes[node].parent == nodes[line].parent &&
					nodes[node].loop == nodes[line].loop
				     : site->turns > 2 * site->long_turns + 1)
			map_set(body, (uint64_t)at->id, 1);
	}
	id_map_release(&sites, free);
}

/* Finds the turns longer than that, ns, in which the thread left the loop. */
static void find_pauses(struct turns *turns, const struct tokens *tokens, uint32_t line,
	int64_t long_turn)
{
	const struct run *run = tokens->run;
	int64_t last = RUN_NEVER, before = 0;
	struct map body = { 0 };
	int has_left = 0;
	size_t turn = 0;

	find_body(turns, tokens, line, long_turn, &body);
	for (uint32_t id = turns->own->token[turns->first].call; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);
		uint32_t site = call ? site_of(run, id) : 0;

		if (!site || call->enter < turns->run.begin[0])
			continue;
		for (; turn < turns->run.turns && call->enter >= turns->run.begin[turn + 1];
			turn++) {
			int64_t begin = turns->run.begin[turn], end = turns->run.begin[turn + 1];

			if (end - begin > long_turn && has_left && last < end) {
				*array_push(turns->run.pause, turns->run.pauses) =
					(struct loop_pause){ last, end, before };
				before += end - last;
			}
			last = RUN_NEVER;
			has_left = 0;
		}
		if (turn == turns->run.turns)
			break;
		/* Calls that neither submit nor wait may be the next turn's, before it begins. */
		if (!map_get(&body, site, 0))
			has_left = 1;
		else if (submits_or_waits(call))
			has_left = 0;
		if (!has_left)
			last = run_exit(run, call, id);
	}
	map_release(&body);
}

void turns_trim(struct turns *turns, struct tokens *tokens, uint32_t line)
{
	uint32_t *typical = xcalloc(turns->run.turns, sizeof(*typical));
	int64_t *length = xcalloc(turns->run.turns, sizeof(*length));
	int64_t last = turns->run.begin[turns->run.turns], median = 0;
	size_t first = 0, end = turns->run.turns, need, typical_first, turn = 0, sites = 0;

	tally_own(turns, tokens);
	turns->run.begin[turns->run.turns] = last; /* with the calls of other threads */
	add_last_calls(turns, tokens);
	/* The typical sites, and those of them in each turn. */
	need = most_of(turns->run.turns);
	for (size_t i = 0; i < tokens->listed_count; i++) {
		sites += tokens->tally[tokens->listed[i]].turns >= need;
		tokens->tally[tokens->listed[i]].last = 0;
	}
	for (size_t i = turns->first; i < turns->end; i++) {
		const struct token *token = &turns->own->token[i];
		struct tally *tally = &tokens->tally[token->site];

		turn = turn_of(turns, token, turn);
		if (tally->turns >= need && tally->last != turn + 1)
			typical[turn]++;
		tally->last = (uint32_t)turn + 1;
	}
	need = most_of(sites);
	while (first < end && typical[first] < need)
		first++;
	while (first < end && typical[end - 1] < need)
		end--;
	typical_first = first;
	for (size_t i = first; i < end; i++)
		length[i - first] = turns->run.begin[i + 1] - turns->run.begin[i];
	length = radix_sort(length, end - first, sizeof(*length));
	if (first < end)
		median = length[(end - first) / 2];
	while (first + LOOP_TURNS_LEAST < end &&
		turns->run.begin[first + 1] - turns->run.begin[first] > LOOP_WARM_TIMES * median)
		first++;
	turns->warm = first - typical_first;
	turns->run.turns = end - first;
	memmove(turns->run.begin, turns->run.begin + first,
		(turns->run.turns + 1) * sizeof(*turns->run.begin));
	if (turns->run.turns)
		find_pauses(turns, tokens, line, LOOP_WARM_TIMES * median);
	free(typical);
	free(length);
}
