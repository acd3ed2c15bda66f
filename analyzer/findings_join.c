/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "findings_parts.h"
#include "pass.h"
#include "places.h"

/* A pair of places that costs less than this part of another with the same call is part of it. */
#define LESSER_PART 2

int findings_add_change(struct changes *changes, const struct changed_call *changed)
{
	struct changed_call *more = array_room(changes->call, changes->count, sizeof(*more));

	if (!more)
		return -1;
	changes->call = more;
	more[changes->count++] = *changed;
	return 0;
}

static int is_blocking(const struct finding *finding)
{
	return !strcmp(rules[finding->worst.rule].group, "blocking");
}

/* Those of a rule at one place together, the costliest first. */
static int by_place(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;

	if (x->worst.rule != y->worst.rule)
		return x->worst.rule < y->worst.rule ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return (x->other_site > y->other_site) - (x->other_site < y->other_site);
}

static int add_changes(struct changes *changes, const struct changes *more)
{
	for (size_t i = 0; i < more->count; i++)
		if (findings_add_change(changes, &more->call[i]))
			return -1;
	return 0;
}

static int join(struct finding *finding, const struct finding *lesser)
{
	finding->count += lesser->count;
	finding->cost += lesser->cost;
	finding->saving += lesser->saving;
	finding->estimates += lesser->estimates;
	finding->overlap += lesser->overlap;
	return add_changes(&finding->changed, &lesser->changed) ||
	       add_changes(&finding->with, &lesser->with) ? -1 : 0;
}

/* Those of one call that is to be mended together, the costliest first. */
static int by_other_place(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;

	if (x->worst.rule != y->worst.rule)
		return x->worst.rule < y->worst.rule ? -1 : 1;
	if (x->other_site != y->other_site)
		return x->other_site < y->other_site ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return (x->site > y->site) - (x->site < y->site);
}

/* Whoever is held by another thread's call, that call is what is to be mended. */
static int join_held(struct findings *findings)
{
	struct finding *first = NULL;
	size_t kept = 0;

	qsort(findings->finding, findings->count, sizeof(struct finding *), by_other_place);
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = findings->finding[i];

		if (finding->worst.rule == RULE_blocked_behind && first &&
			first->worst.rule == finding->worst.rule && finding->other_site &&
			first->other_site == finding->other_site) {
			if (join(first, finding))
				return -1;
			continue;
		}
		first = finding;
		findings->finding[kept++] = finding;
	}
	findings->count = kept;
	return 0;
}

/*
 * A call that waits for the whole device is held by whatever ends last, which need not be the same
 * each time: where one place's work is what it mostly waits for, the rest is said with it.
 */
static int join_lesser(struct findings *findings)
{
	struct finding *first = NULL; /* of its place */
	int64_t most = 0;
	size_t kept = 0;

	qsort(findings->finding, findings->count, sizeof(struct finding *), by_place);
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = findings->finding[i];

		if (!first || first->worst.rule != finding->worst.rule ||
			first->site != finding->site) {
			first = finding;
			most = finding->cost;
		} else if (first->site && is_blocking(finding) &&
			finding->cost < most / LESSER_PART) {
			if (join(first, finding))
				return -1;
			continue;
		}
		findings->finding[kept++] = finding;
	}
	findings->count = kept;
	return 0;
}

static int is_changed(struct findings *findings, const struct changes *changes, int64_t line)
{
	int64_t other;

	for (size_t i = 0; i < changes->count; i++) {
		other = places_line(findings->places, changes->call[i].call);
		if (other < 0 || other == line)
			return other < 0 ? -1 : 1;
	}
	return 0;
}

/* Lines that are mended together are one finding, whichever of them the others were found by. */
static int is_joined_with(struct findings *findings, const struct finding *a,
	const struct finding *b)
{
	int found;

	if (!b->joined || a->worst.rule != b->worst.rule ||
		a->worst.process != b->worst.process || a->site == b->site)
		return 0;
	found = is_changed(findings, &a->with, b->site);
	return found > 0 ? is_changed(findings, &b->with, a->site) : found;
}

/* Each is told at the line that cost the most. */
int findings_join_mended(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		for (size_t k = i + 1; k < findings->count && findings->finding[i]->joined; k++) {
			struct finding *a = findings->finding[i], *b = findings->finding[k];
			int same = is_joined_with(findings, a, b);

			if (same < 0)
				return -1;
			if (!same)
				continue;
			findings->finding[i] = a->cost >= b->cost ? a : b;
			if (join(findings->finding[i], a->cost >= b->cost ? b : a))
				return -1;
			memmove(&findings->finding[k], &findings->finding[k + 1],
				(--findings->count - k) * sizeof(struct finding *));
			k = i;
		}
	return 0;
}

int findings_join(struct findings *findings)
{
	return join_held(findings) || join_lesser(findings) ? -1 : 0;
}
