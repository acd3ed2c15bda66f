/* SPDX-License-Identifier: Apache-2.0 */
#include "confirmation.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "held_run.h"
#include "print.h"

/* As printed, and as in table confirmation. */
static const char *const names[] = { "confirmed", "order missing, conflict not shown",
	"not confirmed", "not applicable" };
static const char *const results[] = { "confirmed", "order-missing", "not-confirmed",
	"not-applicable" };

static const char no_bytes[] = "no byte is known that both access";

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

/* Held to the program's end: it counts as far as something was seen. */
static int was_held(const struct hold_try *try)
{
	return try->state == HOLD_DONE || try->state == HOLD_HELD;
}

int confirmation_was_held(const struct hold_plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (was_held(&plan->tries[i]))
			return 1;
	return 0;
}

static int add_tries(struct confirmation *confirmation, const struct hold_plan *plan,
	struct held_run *run)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct hold_try *try = &plan->tries[i];
		int same;

		if (!was_held(try))
			continue;
		same = held_run_same_bytes(run, plan, i);
		if (same < 0)
			return -1;
		confirmation->tries++;
		confirmation->first += try->first;
		confirmation->same_bytes += same;
		confirmation->both += same && try->first;
	}
	return 0;
}

/* The consumer ran first: once on the same bytes is enough. */
static void judge(struct confirmation *confirmation)
{
	confirmation->verdict = confirmation->both ? CONFIRMED
		: confirmation->first              ? ORDER_MISSING
						   : CONFIRMED_NOT;
}

int confirmation_of_plan(struct confirmation *confirmation, const struct pair *pair,
	const struct hold_plan *plan, struct db *db)
{
	struct held_run run;
	int submitted = 0, rc;

	*confirmation = (struct confirmation){ 0 };
	if (!confirmation_was_held(plan))
		return say_unheld(confirmation, pair, plan);
	rc = held_run_open(&run, db, plan, pair->is_host) || add_tries(confirmation, plan, &run);
	held_run_release(&run);
	if (rc)
		return -1;
	judge(confirmation);
	for (uint32_t i = 0; i < plan->count; i++)
		submitted += was_held(&plan->tries[i]) && plan->tries[i].submitted;
	if (confirmation->first)
		return say(confirmation,
			"%s ran before %s when that was held back, %d of %d %s%s%s", pair->names[0],
			pair->names[1],
			confirmation->both ? confirmation->both : confirmation->first,
			confirmation->tries, confirmation->tries == 1 ? "try" : "tries",
			confirmation->both ? "" : "; ", confirmation->both ? "" : no_bytes);
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

/* Nodes by their kernels, of which a launch must have no others: what is true of the last state of
 * the graph that was judged before. */
static const char nodes_sql[] =
	"SELECT count(*), sum(first), sum(same), sum(first AND same) FROM ("
	" SELECT c.start < p.end - ?3 AS first, EXISTS (SELECT 1 FROM call_object e"
	"  CROSS JOIN hazard h CROSS JOIN call_object s ON s.call = h.launch AND s.role = 'exec'"
	"  JOIN call n ON n.id = h.call JOIN call m ON m.id = h.other_call"
	"  WHERE e.call = p.call AND e.role = 'exec' AND s.object = e.object"
	"  AND h.same_bytes AND h.launch <= p.call"
	"  AND n.kernel IN (l.id, k.id) AND m.kernel IN (l.id, k.id) AND n.id <> m.id"
	"  AND NOT EXISTS (SELECT 1 FROM graph_update u WHERE u.exec = e.object"
	"   AND u.call BETWEEN h.launch AND p.call)"
	"  AND NOT EXISTS (SELECT 1 FROM graph_change u WHERE u.exec = e.object"
	"   AND u.call BETWEEN h.launch AND p.call)) AS same"
	" FROM operation p"
	" JOIN kernel k ON k.id = p.kernel AND k.mangled = ?1"
	" JOIN operation c ON c.call = p.call AND c.id <> p.id"
	" JOIN kernel l ON l.id = c.kernel AND l.mangled = ?2 WHERE p.graph_node NOT NULL"
	" GROUP BY p.call HAVING count(*) = 1)";

static const char instances_sql[] =
	"SELECT count(*), sum(h.gap < -?2), sum(h.same_bytes), sum(h.gap < -?2 AND h.same_bytes)"
	" FROM finding_place p JOIN hazard w ON w.id = p.hazard"
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
		confirmation->same_bytes += sqlite3_column_int(q, 2);
		confirmation->both += sqlite3_column_int(q, 3);
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
	*confirmation = (struct confirmation){ 0 };
	if (pair->launch ? add_nodes(confirmation, pair, db)
			 : add_instances(confirmation, pair, db))
		return -1;
	judge(confirmation);
	if (confirmation->first)
		return say(confirmation, "%s began before %s had ended, %d of %d times (%s)%s%s",
			pair->names[0], pair->names[1],
			confirmation->both ? confirmation->both : confirmation->first,
			confirmation->tries, pair->why, confirmation->both ? "" : "; ",
			confirmation->both ? "" : no_bytes);
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
	if (confirmation->verdict < CONFIRMED_NOT)
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
	if (differs > 0 && !confirmation->same_bytes)
		return say(confirmation,
			"%s; the output differs from that of two runs without the hold, but %s",
			confirmation->text, no_bytes);
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
