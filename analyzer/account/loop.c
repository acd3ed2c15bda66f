/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"
#include "unknown.h"

enum {
	SITES_TRIED = 12,
	TURNS_LEAST = 3,
};

/* A call of the thread that submits or waits; calls that add to a graph do not count. */
struct token {
	uint32_t site;
	int64_t enter; /* ns */
};

/* Sites that occur equally often. */
struct candidate {
	uint64_t times, calls;
	uint32_t site; /* the first site of them */
};

struct search {
	const struct run *run;
	struct token *token;
	size_t count;
	uint32_t *times, *seen; /* by site: number of tokens; last turn with the site */
	uint32_t site_end;      /* last site + 1 */
	struct candidate candidate[SITES_TRIED];
	size_t candidates, sites; /* sites: those that occur more than TURNS_LEAST times */
	/* The best result so far. */
	uint32_t site;
	double score;
	size_t alike_turns;
};

/* The similar turns that begin at a site. */
struct alike {
	uint64_t set;
	size_t turns, calls, sites; /* sites: of one turn */
	size_t of;                  /* turns, including dissimilar ones */
};

static int is_token(const struct run_call *call)
{
	return kind_has(call->kind, K_WORK) || kind_family(call->kind) == FAMILY_wait;
}

/* The site of the program's own, outermost call counts. */
static uint32_t site_of(const struct run *run, uint32_t id)
{
	const struct run_link *link = run_link(run, id);

	if (!link->site && run_call(run, link->parent))
		link = run_link(run, link->parent);
	return link->site;
}

/* Allocates the tables for all sites of tokens. */
static int make_tables(struct search *search)
{
	uint32_t end = 0;

	for (size_t i = 0; i < search->count; i++)
		if (search->token[i].site >= end)
			end = search->token[i].site + 1;
	free(search->times);
	free(search->seen);
	search->times = calloc(end ? end : 1, sizeof(*search->times));
	search->seen = calloc(end ? end : 1, sizeof(*search->seen));
	search->site_end = end;
	if (!search->times || !search->seen) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (size_t i = 0; i < search->count; i++)
		search->times[search->token[i].site]++;
	return 0;
}

static int read_tokens(struct search *search, uint32_t thread)
{
	const struct run *run = search->run;
	int64_t since = unknown_since(run, run->thread[thread].process);

	search->count = 0;
	for (uint32_t id = run->thread[thread].first; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);
		struct token *more;

		if (!call || call->enter >= since || !is_token(call) || !site_of(run, id) ||
			run_object(run, id, OBJECT_CAPTURED))
			continue;
		more = array_room(search->token, search->count, sizeof(*more));
		if (!more)
			return -1;
		search->token = more;
		more[search->count++] = (struct token){ site_of(run, id), call->enter };
	}
	return make_tables(search);
}

/* --- candidates for the first site of a turn --- */

static int more_calls(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->calls < y->calls) - (x->calls > y->calls);
}

/* by_times: number of occurrences -> candidate + 1 */
static int add_candidate(struct candidate **list, size_t *count, struct map *by_times,
	uint32_t site, uint64_t times)
{
	uint64_t known = map_get(by_times, times, 0);
	struct candidate *more;

	if (known) {
		(*list)[known - 1].calls += times;
		return 0;
	}
	more = array_room(*list, *count, sizeof(*more));
	if (!more)
		return -1;
	*list = more;
	more[(*count)++] = (struct candidate){ times, times, site };
	return map_set(by_times, times, *count);
}

/* Adds sites in the order of their first occurrence. */
static int choose_candidates(struct search *search)
{
	struct map by_times = { 0 };
	struct candidate *list = NULL;
	size_t count = 0;
	int rc = 0;

	search->sites = 0;
	memset(search->seen, 0, search->site_end * sizeof(*search->seen));
	for (size_t i = 0; i < search->count && !rc; i++) {
		uint32_t site = search->token[i].site;

		if (search->seen[site]++ || search->times[site] <= TURNS_LEAST)
			continue;
		search->sites++;
		rc = add_candidate(&list, &count, &by_times, site, search->times[site]);
	}
	if (!rc && count)
		qsort(list, count, sizeof(*list), more_calls);
	search->candidates = count < SITES_TRIED ? count : SITES_TRIED;
	if (!rc && count)
		memcpy(search->candidate, list, search->candidates * sizeof(*list));
	free(list);
	map_release(&by_times);
	return rc;
}

/* --- similarity of the turns --- */

/* Calls from the start of a turn to the start of the next one, as a set of sites. */
struct turn {
	uint64_t set;
	size_t calls, sites;
	int64_t begin;
};

static uint64_t mixed(uint64_t site)
{
	site *= UINT64_C(0x9e3779b97f4a7c15);
	site ^= site >> 29;
	return site * UINT64_C(0xbf58476d1ce4e5b9);
}

/*
 * Splits the calls at a site into turns, up to the array's size, and returns their number.  The
 * last one has no end.
 */
static size_t split_turns(struct search *search, uint32_t site, struct turn *turns)
{
	struct turn *turn = NULL;
	uint32_t number = 0;

	memset(search->seen, 0, search->site_end * sizeof(*search->seen));
	for (size_t i = 0; i < search->count; i++) {
		const struct token *token = &search->token[i];

		if (token->site == site) {
			turn = &turns[number++];
			*turn = (struct turn){ .begin = token->enter };
		}
		if (!turn)
			continue;
		turn->calls++;
		if (search->seen[token->site] != number) {
			search->seen[token->site] = number;
			turn->set += mixed(token->site);
			turn->sites++;
		}
	}
	return number;
}

static struct turn *new_turns(const struct search *search, uint32_t site)
{
	struct turn *turns = calloc(search->times[site], sizeof(*turns));

	if (!turns)
		fputs("cufence: out of memory\n", stderr);
	return turns;
}

/* Finds the set of sites whose turns contain the most calls. */
static int find_set(const struct turn *turns, size_t count, struct alike *alike)
{
	struct map sums = { 0 };
	size_t most = 0;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		uint64_t sum = map_get(&sums, turns[i].set, 0) + turns[i].calls;

		rc = map_set(&sums, turns[i].set, sum);
		if (sum <= most)
			continue;
		most = sum;
		alike->set = turns[i].set;
	}
	map_release(&sums);
	return rc ? -1 : 0;
}

static int find_alike(const struct turn *turns, size_t count, struct alike *alike)
{
	*alike = (struct alike){ .of = count };
	if (find_set(turns, count, alike))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (turns[i].set != alike->set)
			continue;
		alike->turns++;
		alike->calls += turns[i].calls;
		alike->sites = turns[i].sites;
	}
	return 0;
}

/*
 * Multiplies the parts of the calls, of the frequent sites and of the turns that the similar turns
 * have.
 */
static double score_of(const struct search *search, const struct alike *alike)
{
	if (alike->turns < TURNS_LEAST || alike->calls * 2 < search->count)
		return 0;
	return (double)alike->calls / (double)search->count * (double)alike->sites /
		(double)search->sites * (double)alike->turns / (double)alike->of;
}

static int is_better(const struct search *search, double score, size_t turns)
{
	return turns > search->alike_turns ? 2 * score > search->score : score > 2 * search->score;
}

static int try_site(struct search *search, uint32_t site)
{
	struct turn *turns = new_turns(search, site);
	struct alike alike;
	int rc = turns ? find_alike(turns, split_turns(search, site, turns) - 1, &alike) : -1;

	if (!rc && is_better(search, score_of(search, &alike), alike.turns)) {
		search->site = site;
		search->score = score_of(search, &alike);
		search->alike_turns = alike.turns;
	}
	free(turns);
	return rc;
}

/* --- the loop --- */

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the median length of count turns from turns on. */
static int64_t median_of(const struct turn *turns, size_t count, int64_t *room)
{
	for (size_t i = 0; i < count; i++)
		room[i] = turns[i + 1].begin - turns[i].begin;
	qsort(room, count, sizeof(*room), by_size);
	return room[count / 2];
}

/* Removes dissimilar and warm-up turns at either end from [*first, *end). */
static void trim(const struct turn *turns, uint64_t set, int64_t *room, size_t *first, size_t *end)
{
	int64_t median;

	while (*first < *end && turns[*first].set != set)
		(*first)++;
	while (*first < *end && turns[*end - 1].set != set)
		(*end)--;
	if (*first == *end)
		return;
	median = median_of(turns + *first, *end - *first, room);
	while (*first + TURNS_LEAST < *end &&
		turns[*first + 1].begin - turns[*first].begin > LOOP_WARM_TIMES * median)
		(*first)++;
}

static int make_loop(struct loop *loop, const struct search *search, const struct turn *turns,
	size_t count)
{
	size_t first = 0, end = count - 1;
	struct alike alike;

	loop->begin = calloc(count, sizeof(*loop->begin));
	if (!loop->begin) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	if (find_alike(turns, end, &alike))
		return -1;
	trim(turns, alike.set, loop->begin, &first, &end);
	loop->site = search->site;
	loop->turns = end - first;
	for (size_t i = first; i <= end; i++)
		loop->begin[i - first] = turns[i].begin;
	return 0;
}

static int set_loop(struct loop *loop, struct search *search)
{
	struct turn *turns = new_turns(search, search->site);
	int rc = turns ? make_loop(loop, search, turns, split_turns(search, search->site, turns))
		       : -1;

	free(turns);
	return rc;
}

static int search_thread(struct loop *loop, struct search *search, uint32_t thread, size_t *most)
{
	search->alike_turns = search->site = 0;
	search->score = 0;
	if (read_tokens(search, thread) || choose_candidates(search))
		return -1;
	for (size_t i = 0; i < search->candidates; i++)
		if (try_site(search, search->candidate[i].site))
			return -1;
	if (!search->site || search->count <= *most)
		return 0;
	*most = search->count;
	free(loop->begin);
	loop->begin = NULL;
	loop->thread = thread;
	return set_loop(loop, search);
}

int loop_find(struct loop *loop, const struct run *run, const uint32_t *threads, size_t count)
{
	struct search search = { .run = run };
	size_t most = 0;
	int rc = 0;

	*loop = (struct loop){ 0 };
	for (size_t i = 0; i < count && !rc; i++)
		rc = search_thread(loop, &search, threads[i], &most);
	free(search.token);
	free(search.times);
	free(search.seen);
	return rc ? -1 : 0;
}

void loop_release(struct loop *loop)
{
	free(loop->begin);
	*loop = (struct loop){ 0 };
}
