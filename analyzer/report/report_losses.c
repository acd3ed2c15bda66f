/* SPDX-License-Identifier: Apache-2.0 */
#include "report_internal.h"

#include <string.h>

#include "format.h"
#include "losses.h"
#include "report_facts.h"
#include "print.h"

/* More lines would push the findings off the screen. */
/* Calls listed; their number is printed. */
#define MOST_HUNG 20

char *report_loss_text(const char *text, int64_t count)
{
	const char *mark = strstr(text, "%lld"), *time = strstr(text, "%s");
	char duration[DURATION_SIZE];

	if (mark)
		return sqlite3_mprintf("%.*s%lld%s", (int)(mark - text), text, count, mark + 4);
	if (time)
		return sqlite3_mprintf("%.*s%s%s", (int)(time - text), text,
			format_duration(duration, count), time + 2);
	return sqlite3_mprintf("%s", text);
}

char *report_cupti_text(char *text, const char *state, int error, const char *holder)
{
	if (!strcmp(state, "busy"))
		return sqlite3_mprintf("%z (CUPTI busy: it serves one tool at a time, here %s)",
			text, holder ? holder : "another profiler");
	if (!strcmp(state, "failed"))
		return sqlite3_mprintf("%z (CUPTI failed, error %d)", text, error);
	return sqlite3_mprintf("%z (CUPTI %s)", text, state);
}

enum { COLUMN_PID = 1, COLUMN_REASON, COLUMN_TEXT = 5 };

int report_losses(struct db *db, int failures, FILE *out)
{
	static const char *const marks[] = { "note:", "incomplete:", "incomplete:", "failed:" };
	sqlite3_stmt *q = report_fact(db, FACT_LOSSES);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		enum loss_effect effect = loss_effect(db_text(q, COLUMN_REASON));

		if (sqlite3_column_text(q, COLUMN_TEXT) && failures == (effect == LOSS_FAILED))
			print(out, "    %s %s [pid %lld]\n", marks[effect],
				(const char *)sqlite3_column_text(q, COLUMN_TEXT),
				(long long)sqlite3_column_int64(q, COLUMN_PID));
	}
	sqlite3_finalize(q);
	return step;
}

int report_hung(struct db *db, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_HUNG);
	int step = q ? 0 : -1;

	for (int i = 0; !step && i < MOST_HUNG && (step = db_step(q)) > 0; i++) {
		const char *function = (const char *)sqlite3_column_text(q, 1);
		const char *place = (const char *)sqlite3_column_text(q, 2);

		step = 0;
		print(out,
			"    hung     %s had not returned at the end of the trace: %s, %s "
			"[pid %lld, thread %lld]\n",
			(const char *)sqlite3_column_text(q, 0), function ? function : "?",
			place ? place : "?", (long long)sqlite3_column_int64(q, 3),
			(long long)sqlite3_column_int64(q, 4));
	}
	sqlite3_finalize(q);
	return step;
}
