/* SPDX-License-Identifier: Apache-2.0 */
#include "confirmation.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "print.h"

/* As printed, and as in table confirmation. */
static const char *const names[] = { "confirmed", "not confirmed", "not applicable" };
static const char *const results[] = { "confirmed", "not-confirmed", "not-applicable" };

__attribute__((format(printf, 2, 3))) static int say(struct confirmation *confirmation,
	const char *format, ...)
{
	char *text = NULL;
	va_list values;
	int rc;

	va_start(values, format);
	rc = vasprintf(&text, format, values);
	va_end(values);
	if (rc < 0)
		return -1;
	free(confirmation->text);
	confirmation->text = text;
	return 0;
}

int confirmation_refuse(struct confirmation *confirmation, const char *why)
{
	*confirmation = (struct confirmation){ .verdict = NOT_APPLICABLE };
	return say(confirmation, "%s", why);
}

/* --- the producer was held back --- */

static int count_state(const struct hold_plan *plan, enum hold_state state)
{
	int count = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		count += plan->tries[i].state == state;
	return count;
}

/* No producer was held. */
static int say_unheld(struct confirmation *confirmation, const struct pair *pair,
	const struct hold_plan *plan)
{
	confirmation->verdict = NOT_APPLICABLE;
	if (count_state(plan, HOLD_CAPTURED))
		return say(confirmation, "the stream of %s was being captured", pair->names[1]);
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->tries[i].state == HOLD_REFUSED)
			return say(confirmation,
				"the stream of %s could not be held: the driver answered %u",
				pair->names[1], plan->tries[i].error);
	return say(confirmation,
		"this run did not make the call of %s again: the program, its build or its "
		"arguments are others than before",
		pair->names[1]);
}

int confirmation_of_plan(struct confirmation *confirmation, const struct pair *pair,
	const struct hold_plan *plan)
{
	int submitted = 0;

	*confirmation = (struct confirmation){ .verdict = CONFIRMED_NOT };
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct hold_try *try = &plan->tries[i];

		/* Held to the program's end: it counts as far as something was seen. */
		if (try->state != HOLD_DONE && try->state != HOLD_HELD)
			continue;
		confirmation->tries++;
		confirmation->first += try->first;
		submitted += try->submitted;
	}
	if (!confirmation->tries)
		return say_unheld(confirmation, pair, plan);
	if (confirmation->first) {
		confirmation->verdict = CONFIRMED;
		return say(confirmation, "%s ran before %s when that was held back, %d of %d %s",
			pair->names[0], pair->names[1], confirmation->first, confirmation->tries,
			confirmation->tries == 1 ? "try" : "tries");
	}
	if (!submitted)
		return say(confirmation,
			"%s did not come while %s was held back: the program waited before that, "
			"%d of %d %s",
			pair->names[0], pair->names[1], confirmation->tries, confirmation->tries,
			confirmation->tries == 1 ? "try" : "tries");
	return say(confirmation, "%s did not run while %s was held back, %d of %d %s",
		pair->names[0], pair->names[1], confirmation->tries, confirmation->tries,
		confirmation->tries == 1 ? "try" : "tries");
}

/* --- they were left alone --- */

/* Nodes by their kernels, of which a launch must have no others. */
static const char nodes_sql[] =
	"SELECT count(*), sum(c.start < p.end - ?3) FROM operation p"
	" JOIN kernel k ON k.id = p.kernel AND k.mangled = ?1"
	" JOIN operation c ON c.call = p.call AND c.id <> p.id"
	" JOIN kernel l ON l.id = c.kernel AND l.mangled = ?2 WHERE p.graph_node NOT NULL"
	" GROUP BY p.call HAVING count(*) = 1";

static const char instances_sql[] =
	"SELECT count(*), sum(h.gap < -?2) FROM finding_place p JOIN hazard w ON w.id = p.hazard"
	" JOIN call wc ON wc.id = w.call JOIN call wo ON wo.id = w.other_call"
	" JOIN hazard h ON h.rule = w.rule AND h.gap NOT NULL"
	" JOIN call c ON c.id = h.call AND c.site = wc.site"
	" JOIN call o ON o.id = h.other_call AND o.site = wo.site WHERE p.fingerprint = ?1";

static int add_rows(struct confirmation *confirmation, sqlite3_stmt *q)
{
	int step;

	while ((step = db_step(q)) > 0) {
		confirmation->tries += sqlite3_column_int(q, 0);
		confirmation->first += sqlite3_column_int(q, 1);
	}
	return step;
}

/* Adds the results of the nodes' two kernels, from the database of the finding. */
static int add_nodes(struct confirmation *confirmation, const struct pair *pair, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, nodes_sql);
	int rc = q ? db_bind(q, "ssi", pair->kernels[1], pair->kernels[0], (int64_t)OVERLAP_MIN_NS)
		   : -1;

	if (!rc)
		rc = add_rows(confirmation, q);
	sqlite3_finalize(q);
	return rc;
}

static int add_instances(struct confirmation *confirmation, const struct pair *pair, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, instances_sql);
	int rc = q ? db_bind(q, "si", pair->fingerprint, (int64_t)OVERLAP_MIN_NS) : -1;

	if (!rc)
		rc = add_rows(confirmation, q);
	sqlite3_finalize(q);
	return rc;
}

int confirmation_of_run(struct confirmation *confirmation, const struct pair *pair, struct db *db)
{
	*confirmation = (struct confirmation){ .verdict = CONFIRMED_NOT };
	if (pair->launch ? add_nodes(confirmation, pair, db)
			 : add_instances(confirmation, pair, db))
		return -1;
	if (confirmation->first) {
		confirmation->verdict = CONFIRMED;
		return say(confirmation, "%s began before %s had ended, %d of %d times (%s)",
			pair->names[0], pair->names[1], confirmation->first, confirmation->tries,
			pair->why);
	}
	if (confirmation->tries)
		return say(confirmation,
			"%s could not be held back (%s), and %s did not begin before it had "
			"ended, %d of %d times",
			pair->names[1], pair->why, pair->names[0], confirmation->tries,
			confirmation->tries);
	confirmation->verdict = NOT_APPLICABLE;
	return say(confirmation, "%s could not be held back: %s", pair->names[1], pair->why);
}

int confirmation_add_queues(struct confirmation *confirmation, const struct pair *pair,
	const char *connections)
{
	if (confirmation->verdict == CONFIRMED)
		return say(confirmation,
			"%s, with CUDA_DEVICE_MAX_CONNECTIONS=%s; without, the two streams share a "
			"hardware queue",
			confirmation->text, connections);
	return say(confirmation, "%s, nor with CUDA_DEVICE_MAX_CONNECTIONS=%s", confirmation->text,
		connections);
}

/* --- what the program wrote --- */

int confirmation_add_output(struct confirmation *confirmation, const struct pair *pair, int differs)
{
	if (differs > 0) {
		confirmation->verdict = CONFIRMED;
		return say(confirmation,
			"the output was another one when %s was held back; without it was the "
			"same twice",
			pair->names[1]);
	}
	return say(confirmation, "%s; the output %s", confirmation->text,
		differs ? "is another one in each run, which says nothing" : "stayed the same");
}

/* --- where it goes --- */

void confirmation_print(const struct confirmation *confirmation, FILE *out)
{
	print(out, "%s: %s\n", names[confirmation->verdict], confirmation->text);
}

void confirmation_print_places(enum confirmed verdict, int count, int of, FILE *out)
{
	print(out, "%s: %d of %d places\n", names[verdict], count, of);
}

int confirmation_store(const struct confirmation *confirmation, const struct pair *pair,
	struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"INSERT OR REPLACE INTO confirmation (fingerprint, result, how) VALUES (?, ?, ?)");
	int rc = q ? db_run(q, "sss", pair->fingerprint, results[confirmation->verdict],
			     confirmation->text)
		   : -1;

	sqlite3_finalize(q);
	return rc;
}

void confirmation_release(struct confirmation *confirmation)
{
	free(confirmation->text);
	confirmation->text = NULL;
}
