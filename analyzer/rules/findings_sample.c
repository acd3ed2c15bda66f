/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of a run of which samples were recorded, extrapolated to all of it (finding_sample).
 * The work of a process in its windows, divided by their length, stands for all its time (ratio.h).
 * The interval follows from how the windows differ: work that is alike in each of them is known
 * closely from few.
 */
#include <math.h>
#include <stdlib.h>

#include "findings_internal.h"
#include "memory.h"
#include "ratio.h"
#include "rows.h"
#include "run_columns.h"

/* The windows of a process, and how long it ran, ns. */
struct samples {
	struct window_cost *window;
	size_t count;
	double recorded, whole;
};

/* A time or a number in all of the run; low and high DB_NULL: not known. */
struct estimate {
	int64_t about, low, high;
};

void finding_place_sample(const struct findings *findings, struct finding_place *place,
	const struct instance *instance, int64_t count)
{
	const struct run_call *call = run_call(findings->db->run, instance->call);
	int number = findings->windows.count && call
		? stretches_find(&findings->windows, instance->process, call->enter)
		: 0;
	struct window_cost *last = place->windows ? &place->window[place->windows - 1] : NULL;

	if (number <= 0)
		return;
	if (!last || last->number != number) {
		last = array_push(place->window, place->windows);
		*last = (struct window_cost){ .number = number };
	}
	last->amount[COUNT] += (double)count;
	last->amount[instance->saving == FINDING_DELAY ? DELAYED : WAITED] +=
		(double)instance->cost;
}

/*
 * Windows in which the process made no call are as long as the others; with virtual time they have
 * no length, as it stands still meanwhile.
 */
static int read_samples(const struct findings *findings, int64_t process, struct samples *samples)
{
	const struct stretches *windows = &findings->windows;
	sqlite3_stmt *q = db_prepare(findings->db,
		"SELECT p.end - p.start, iif(p.clock = 'virtual', 0, coalesce(CAST(e.value AS"
		" INTEGER), 0)) FROM process p LEFT JOIN property e ON e.process = p.id"
		" AND e.name = 'empty_windows' WHERE p.id = ?");
	int step = q && !db_bind(q, "i", process) ? db_step(q) : -1;
	int64_t empty = 0;
	double length;

	for (size_t i = 0; i < windows->count; i++) {
		const struct stretch *window = &windows->stretch[i];

		if (window->process != process || window->end <= window->start)
			continue;
		length = (double)(window->end - window->start);
		*array_push(samples->window, samples->count) =
			(struct window_cost){ .number = (int)i + 1, .length = length };
		samples->recorded += length;
	}
	if (step > 0) {
		samples->whole = (double)sqlite3_column_int64(q, 0);
		empty = samples->count ? sqlite3_column_int64(q, 1) : 0;
	}
	sqlite3_finalize(q);
	length = samples->count ? samples->recorded / (double)samples->count : 0;
	for (; empty > 0; empty--) {
		*array_push(samples->window, samples->count) =
			(struct window_cost){ .length = length };
		samples->recorded += length;
	}
	return step < 0 ? -1 : 0;
}

static struct estimate estimate(const struct samples *samples, enum quantity quantity)
{
	struct ratio_part *part = xcalloc(samples->count, sizeof(*part));
	double sum = 0;
	struct ratio ratio;

	for (size_t i = 0; i < samples->count; i++) {
		part[i].length = samples->window[i].length;
		part[i].amount = samples->window[i].amount[quantity];
		sum += part[i].amount;
	}
	ratio = ratio_estimate(part, samples->count, samples->recorded, samples->whole);
	free(part);
	if (isnan(ratio.error))
		return (struct estimate){ llround(ratio.about), DB_NULL, DB_NULL };
	return (struct estimate){ llround(ratio.about),
		llround(fmax(ratio.about - ratio.error, sum)), llround(ratio.about + ratio.error) };
}

int finding_write_sample(const struct findings *findings, const struct finding *finding,
	int64_t row)
{
	struct samples samples = { 0 };
	struct estimate count, waited, delayed;
	int rc = findings->windows.count ? read_samples(findings, finding->process, &samples) : 0;

	if (rc || !samples.count)
		goto out;
	/* The clocks differ by a little. */
	samples.whole = fmax(samples.whole, samples.recorded);
	for (size_t i = 0; i < finding->count; i++) {
		const struct finding_place *place = finding->place[i];

		for (size_t k = 0; k < place->windows; k++) {
			const struct window_cost *window = &place->window[k];
			size_t at = 0;

			/* In the order of their numbers, but the empty ones at the end. */
			while (at < samples.count && samples.window[at].number != window->number)
				at++;
			for (int q = 0; q < QUANTITIES && at < samples.count; q++)
				samples.window[at].amount[q] += window->amount[q];
		}
	}
	count = estimate(&samples, COUNT);
	waited = estimate(&samples, WAITED);
	delayed = estimate(&samples, DELAYED);
	rc = db_add(findings->db,
		ROW(finding_sample, row, (int64_t)samples.count, llround(samples.recorded),
			llround(samples.whole), count.about, count.low, count.high, waited.about,
			waited.low, waited.high, delayed.about, delayed.low, delayed.high));
out:
	free(samples.window);
	return rc;
}
