/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the lines of a finding: places that one change of the source fixes.  A line is part of a
 * finding if it would be a finding by itself, because single occurrences at many lines are no
 * pattern. It is shown unless it costs little compared with the line of the highest cost.
 */
#include <stdlib.h>

#include "compare.h"
#include "constants.h"
#include "findings_internal.h"

/* Sorts places of a line together, the highest cost first. */
static int by_line(const void *a, const void *b)
{
	const struct finding_place *x = *(struct finding_place *const *)a;
	const struct finding_place *y = *(struct finding_place *const *)b;

	return by_number(y->worst.confidence, x->worst.confidence)
		?: by_number(y->line_cost, x->line_cost) ?: by_number(x->line, y->line)
		?: by_number(cost_of(&y->cost), cost_of(&x->cost))
		?: by_number(x->site, y->site) ?: by_number(x->other_site, y->other_site);
}

static int by_worth(const void *a, const void *b)
{
	const struct finding_place *x = *(struct finding_place *const *)a;
	const struct finding_place *y = *(struct finding_place *const *)b;

	/* What saves nothing alone is sorted by its cost. */
	int64_t one = x->replayed && x->alone >= SHOWN_MIN_NS ? x->alone : 0;
	int64_t other = y->replayed && y->alone >= SHOWN_MIN_NS ? y->alone : 0;

	return by_number(y->replayed, x->replayed) ?: by_number(other, one) ?: by_line(a, b);
}

static void sort(struct finding *finding, int (*compare)(const void *, const void *))
{
	if (finding->count)
		qsort(finding->place, finding->count, sizeof(*finding->place), compare);
}

void finding_sort_by_saving(struct finding *finding)
{
	sort(finding, by_worth);
}

int finding_next_line(const struct finding *finding, struct finding_line *line)
{
	size_t from = line->place ? (size_t)(line->place - finding->place) + line->count : 0;

	line->place = finding->place + from;
	line->count = 0;
	while (from + line->count < finding->count &&
		line->place[line->count]->line == line->place[0]->line)
		line->count++;
	return line->count > 0;
}

void cost_add(struct cost *sum, const struct cost *cost)
{
	sum->count += cost->count;
	sum->waited += cost->waited;
	sum->delayed += cost->delayed;
	sum->avoidable += cost->avoidable;
	sum->shorter += cost->shorter;
	sum->in_loop += cost->in_loop;
}

static int is_guess(const struct finding_place *place)
{
	return place_confidence(place) < CONFIDENCE_LIKELY;
}

void finding_collect_lines(struct finding *finding)
{
	struct finding_line line = { NULL, 0 };
	int is_fence = rule_is_fence(finding->rule), is_sure;
	size_t kept = 0;

	for (size_t i = 0; i < finding->count; i++)
		if (finding->place[i]->cost.count < finding->place[i]->worst.least)
			finding->place[i]->worst.confidence = CONFIDENCE_POSSIBLE;
	/* The saving of such places, such as a wait that may be for a clock, is not counted. */
	is_sure = finding_confidence(finding) >= CONFIDENCE_LIKELY;
	for (size_t i = 0; i < finding->count; i++)
		if (is_fence || !is_sure || !is_guess(finding->place[i]))
			finding->place[kept++] = finding->place[i];
	finding->count = kept;
	/* No place has a line_cost yet, so this only groups the places of a line. */
	sort(finding, by_line);
	finding->cost = (struct cost){ 0 };
	for (kept = 0; finding_next_line(finding, &line);) {
		struct cost cost = { 0 };

		for (size_t i = 0; i < line.count; i++)
			cost_add(&cost, &line.place[i]->cost);
		if (!is_fence && cost.count < FINDING_MIN_COUNT && cost_of(&cost) < FINDING_MIN_NS)
			continue;
		for (size_t i = 0; i < line.count; i++) {
			line.place[i]->line_cost = cost_of(&cost);
			finding->place[kept++] = line.place[i];
		}
		cost_add(&finding->cost, &cost);
	}
	finding->count = kept;
	sort(finding, by_line);
	/* A mistake that is only possible is not shown with more certain ones. */
	for (size_t i = 0; i < kept; i++) {
		struct finding_place *place = finding->place[i], *first = finding->place[0];

		place->shown = is_fence ? !is_guess(place) || is_guess(first)
					: place->line_cost >= first->line_cost / LESSER_LINE_PART;
	}
}
