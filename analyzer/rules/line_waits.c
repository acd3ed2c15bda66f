/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits at one line of the source that some callers need and others do not: the verdict is about
 * the call as those callers make it.
 */
#include "constants.h"
#include "findings_internal.h"
#include "memory.h"
#include "pass.h"
#include "places.h"
#include "run_columns.h"

/* The waits at a line, of one type of call. */
struct line_waits {
	int64_t made, needless;
	int64_t places; /* with needless ones */
};

static int is_left_out(enum rule rule)
{
	return rules[rule].pass->leaves_out;
}

static struct line_waits *waits_of(struct findings *findings, int64_t call)
{
	int64_t line = places_line(findings->places, call);
	const struct run_call *row = run_call(findings->db->run, call);

	return line > 0 && row ? id_map_need(&findings->line_waits, line << 16 | row->type,
					 sizeof(struct line_waits))
			       : NULL;
}

static int count_made(struct findings *findings)
{
	const struct run *run = findings->db->run;

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		struct line_waits *waits;

		if (!call || !(call_is_wait(call->kind) || call->kind == KIND_STREAM_WAIT))
			continue;
		waits = waits_of(findings, id);
		if (waits)
			waits->made++;
		else if (findings->db->failed)
			return -1;
	}
	return 0;
}

int findings_count_waits(struct findings *findings)
{
	int any = 0;

	for (size_t i = 0; i < findings->count; i++)
		any |= is_left_out(findings->finding[i]->rule);
	if (!any)
		return 0;
	if (count_made(findings))
		return -1;
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		for (size_t k = 0; k < finding->count && is_left_out(finding->rule); k++) {
			const struct finding_place *place = finding->place[k];
			struct line_waits *waits = waits_of(findings, place->worst.call);

			if (!waits)
				continue;
			waits->needless += place->cost.count;
			waits->places++;
		}
	}
	return 0;
}

int64_t findings_needed_there(struct findings *findings, const struct finding_place *place,
	int64_t *made)
{
	const struct line_waits *waits =
		is_left_out(place->worst.rule) ? waits_of(findings, place->worst.call) : NULL;
	int64_t needed = waits ? waits->made - waits->needless : 0;

	*made = waits ? waits->made : 0;
	/* The last wait of each place may be needed, which is left to the program's author. */
	return waits && needed - waits->places >= FINDING_MIN_COUNT ? needed : 0;
}
