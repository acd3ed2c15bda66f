/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_waits.h"

#include <stdlib.h>

#include "constants.h"
#include "kinds.h"
#include "waits.h"

/*
 * Behind a call that was held, calls that wait as a side effect as well, but were not held any
 * more: frees and their like, copies to the device.  They would have waited in its place.  Up to
 * the thread's next call that was held or is made in order to wait, and within one window: what
 * waited outside is not known.
 */
#define TO_HOST(c) c ".dst_memory IN " IN_HOST_MEMORY

static const char end_sql[] =
	"SELECT e.id FROM call e JOIN call_type t ON t.id = e.type "
	"WHERE e.id > ?1 AND e.id < ?2 AND e.thread = (SELECT thread FROM call WHERE id = ?1) "
	"AND (" IS_EXPLICIT_WAIT("t") " "
	" OR (?3 AND " IS_SYNC_COPY("t") " AND " TO_HOST("e") ") "
	" OR EXISTS (SELECT 1 FROM wait w WHERE w.call = e.id AND " WAIT_FOR_OTHERS ")) "
	"ORDER BY e.id LIMIT 1";

#define FOLLOWERS(which) \
	"SELECT n.id FROM call n JOIN call_type t ON t.id = n.type " \
	"WHERE n.thread = (SELECT thread FROM call WHERE id = ?1) AND n.id > ?1 AND n.id < ?2 " \
	"AND NOT EXISTS (SELECT 1 FROM recording r WHERE r.process = n.process " \
	" AND r.start <= n.enter AND r.start > (SELECT enter FROM call WHERE id = ?1)) " \
	"AND NOT t.runtime AND (" which ") ORDER BY n.id"

/* clang-format off */
static const char followers_sql[] = FOLLOWERS(KIND_WHERE("t", "resource")
	" OR " IS_SYNC_COPY("t") " OR (" IS_SYNC_SET("t") " AND " TO_HOST("n") ")");
/* clang-format on */

/* Behind a pageable Async copy those of its stream. */
/* clang-format off */
static const char async_followers_sql[] = FOLLOWERS(IS_ASYNC_COPY("t")
	" AND n.stream = (SELECT stream FROM call WHERE id = ?1) "
	"AND (n.src_memory = 'pageable' OR n.dst_memory = 'pageable')");
/* clang-format on */

/* What else the legacy default stream had to do when a copy in it waited, one call per place. */
static const char before_sql[] =
	"SELECT max(o.call) FROM call c CROSS JOIN work o ON o.call < c.id AND o.call > c.id - ?2 "
	"AND o.stream = c.stream AND +o.end > c.enter CROSS JOIN call b ON b.id = o.call "
	"WHERE c.id = ?1 GROUP BY b.site LIMIT ?3";

/* Behind a copy to the host, or what is mended with one: others to the host, too. */
enum followers { FOLLOWERS_NONE, FOLLOWERS_WAITING, FOLLOWERS_ASYNC, FOLLOWERS_OF_RESULT };

struct follower_queries {
	sqlite3_stmt *end, *followers, *async_followers, *before;
};

static int find_followers(const struct follower_queries *queries, enum followers kind,
	struct instance *instance)
{
	sqlite3_stmt *followers =
		kind == FOLLOWERS_ASYNC ? queries->async_followers : queries->followers;
	int64_t end = instance->call + FOLLOWER_CALLS;
	int count = 0,
	    rc = db_bind(queries->end, "iii", instance->call, end,
		    (int64_t)(kind != FOLLOWERS_OF_RESULT));

	if (rc || (rc = db_step(queries->end)) < 0)
		return -1;
	if (rc)
		end = sqlite3_column_int64(queries->end, 0);
	sqlite3_reset(queries->end);
	rc = db_bind(followers, "ii", instance->call, end);
	while (!rc && count < FINDING_ALSO && (rc = db_step(followers)) > 0) {
		instance->also[count++] = sqlite3_column_int64(followers, 0);
		rc = 0;
	}
	sqlite3_reset(followers);
	return rc;
}

/* The stream that it leaves it leaves with what is mended with it and what it comes after there. */
static int add_leaving(const struct follower_queries *queries, struct instance *instance)
{
	int64_t room = FINDING_ALSO;
	int count = 0, rc;

	instance->with_change = CHANGE_WAIT | CHANGE_ORDER;
	instance->with[count++] = instance->call;
	for (int i = 0; i < FINDING_ALSO && instance->also[i] && count < FINDING_ALSO; i++)
		instance->with[count++] = instance->also[i];
	rc = db_bind(queries->before, "iii", instance->call, (int64_t)ROW_CALLS, room - count);
	while (!rc && (rc = db_step(queries->before)) > 0) {
		instance->with[count++] = sqlite3_column_int64(queries->before, 0);
		rc = 0;
	}
	sqlite3_reset(queries->before);
	return rc;
}

/* For the first row that there is. */
static int need_queries(struct follower_queries *queries, struct db *db)
{
	if (queries->before)
		return 0;
	queries->end = db_prepare(db, end_sql);
	queries->followers = db_prepare(db, followers_sql);
	queries->async_followers = db_prepare(db, async_followers_sql);
	queries->before = db_prepare(db, before_sql);
	return queries->end && queries->followers && queries->async_followers && queries->before
		? 0
		: -1;
}

static int add_all(struct db *db, sqlite3_stmt *q, struct follower_queries *queries,
	struct findings *findings, enum rule rule)
{
	int rc;

	while ((rc = db_step(q)) > 0) {
		struct instance instance = {
			.rule = rule,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.cost = sqlite3_column_int64(q, 3),
			.saving = sqlite3_column_int64(q, 4),
			.also = { sqlite3_column_int64(q, 5) },
			.change = CHANGE_WAIT,
		};

		enum followers kind = (enum followers)sqlite3_column_int(q, 6);

		if (need_queries(queries, db) ||
			(kind && find_followers(queries, kind, &instance)) ||
			(sqlite3_column_int(q, 7) && add_leaving(queries, &instance)) ||
			findings_add(findings, &instance))
			return -1;
	}
	return rc;
}

int pass_add_rows(struct db *db, struct findings *findings, enum rule rule, const char *sql)
{
	struct follower_queries queries = { .end = NULL };
	sqlite3_stmt *q = db_prepare(db, sql);
	int rc = q ? add_all(db, q, &queries, findings, rule) : -1;

	sqlite3_finalize(q);
	sqlite3_finalize(queries.end);
	sqlite3_finalize(queries.followers);
	sqlite3_finalize(queries.async_followers);
	sqlite3_finalize(queries.before);
	return rc;
}

/* Without statistics SQLite would begin with the calls, of which there are many: CROSS JOIN. */
int pass_add_waits(struct db *db, struct findings *findings, enum rule rule, const char *condition)
{
	char *sql = sqlite3_mprintf(
		"SELECT c.process, w.call, o.call, w.waited, max(w.avoidable, w.apart), w.partner, "
		"CASE WHEN " IS_SYNC_SET("t") " THEN 1 "
		" WHEN " IS_SYNC_COPY("t") " THEN CASE WHEN " TO_HOST("c") " THEN 3 ELSE 1 END "
		" WHEN " IS_ASYNC_COPY("t") " THEN CASE w.kind WHEN 'implicit' THEN 2 ELSE 0 END "
		" ELSE CASE WHEN w.partner NOT NULL THEN 3 "
		"  ELSE NOT " IS_LAUNCH("t") " AND w.kind = 'implicit' END END, w.apart > 0 "
		"FROM wait w "
		"CROSS JOIN call c ON c.id = w.call CROSS JOIN call_type t ON t.id = c.type "
		"CROSS JOIN work o ON o.id = w.op "
		"WHERE w.kind NOT IN ('behind', 'queue') AND max(w.avoidable, w.apart) > 0 "
		"AND (%s) "
		"ORDER BY w.id", condition);
	int rc = sql ? pass_add_rows(db, findings, rule, sql) : -1;

	sqlite3_free(sql);
	return rc;
}

int pass_say_waited(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" for ", out);
	if (worst->call == worst->other_call) {
		fputs("its own transfer", out);
		return 0;
	}
	return words_operation(words, worst->other_call, out);
}
