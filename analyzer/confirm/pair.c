/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

#include "call_place.h"
#include "calls.h"
#include "constants.h"
#include "memory.h"
#include "print.h"
#include "remote_kernels.h"
#include "words.h"

/* --- the two, as they are found in another process --- */

static const char call_sql[] =
	"SELECT c.site, t.name, (SELECT count(*) FROM call b WHERE b.thread = c.thread"
	"  AND b.type = c.type AND b.site = c.site AND b.id <= c.id),"
	" (SELECT count(DISTINCT b.thread) FROM call b WHERE b.process = c.process"
	"  AND b.type = c.type AND b.site = c.site), c.thread"
	" FROM call c JOIN call_type t ON t.id = c.type WHERE c.id = ?";

struct found {
	struct hold_place place;
	uint32_t ordinal;
	int threads; /* that make such calls there */
	int64_t thread;
};

static int find_call(struct db *db, int64_t call, struct found *found)
{
	sqlite3_stmt *q = db_prepare(db, call_sql);
	int step = q && !db_bind(q, "i", call) ? db_step(q) : -1, frames = 0;

	*found = (struct found){ .place.call = CALL_COUNT };
	if (step > 0) {
		found->place.call = call_named(db_text(q, 1));
		found->ordinal = (uint32_t)sqlite3_column_int64(q, 2);
		found->threads = sqlite3_column_int(q, 3);
		found->thread = sqlite3_column_int64(q, 4);
		frames = call_place_read(db, sqlite3_column_int64(q, 0), &found->place.place);
	}
	sqlite3_finalize(q);
	if (!frames)
		found->place.call = CALL_COUNT;
	return step > 0 && frames >= 0 ? 0 : -1;
}

static int add_try(struct pair *pair, struct db *db, int64_t consumer, int64_t producer)
{
	struct hold_plan *plan = &pair->plan;
	struct found late, early;

	if (plan->count == HOLD_TRIES)
		return 0;
	if (find_call(db, consumer, &late) || find_call(db, producer, &early))
		return -1;
	if (late.place.call == CALL_COUNT || early.place.call == CALL_COUNT)
		pair->obstacle = "the place of one of the two calls was not recorded";
	else if (early.threads > 1 || (late.threads > 1 && !pair->is_host))
		pair->obstacle =
			"several threads make these calls at one place: another "
			"run does not show which call is which";
	plan->consumer = late.place;
	plan->producer = early.place;
	plan->same_thread = late.thread == early.thread;
	plan->tries[plan->count++] = (struct hold_try){ .producer = early.ordinal,
		.consumer = pair->is_host ? 0 : late.ordinal };
	return 0;
}

/* --- whether the producer can be held back --- */

/* The obstacles, in the order in which they are checked; the first is reported. */
static const struct obstacle {
	const char *sql; /* of the calls ?1, the consumer, and ?2: whether it does */
	const char *text;
	enum pair_method method; /* what is left; PAIR_HOLD: nothing */
} obstacles[] = {
	{ "SELECT EXISTS (SELECT 1 FROM recording r JOIN call c ON c.process = r.process"
	  " WHERE c.id IN (?1, ?2))",
		"only a part of the run was recorded, in which calls cannot be counted",
		PAIR_HOLD },
	{ "SELECT EXISTS (SELECT 1 FROM call c JOIN call n ON n.stream = c.stream"
	  " JOIN kernel k ON k.id = n.kernel WHERE c.id = ?2 AND " WAITS_FOR_OTHER_DEVICES(
		  "k.name") ")",
		"kernels of NCCL or NVSHMEM run in its stream, which wait for those of other "
		"devices",
		PAIR_HOLD },
	{ "SELECT EXISTS (SELECT 1 FROM call c JOIN call n ON n.stream = c.stream"
	  " JOIN call_type t ON t.id = n.type JOIN call_kind d ON d.name = t.kind"
	  " WHERE c.id = ?2 AND d.outside)",
		"its stream waits for values in memory or for semaphores, which others set",
		PAIR_HOLD },
	{ "SELECT EXISTS (SELECT 1 FROM call c JOIN call_type t ON t.id = c.type"
	  " JOIN call_kind d ON d.name = t.kind WHERE c.id = ?2 AND d.default_stream"
	  " AND d.waits = 'by_memory' AND NOT (coalesce(c.dst_memory, 'device') = 'device'"
	  "  AND coalesce(c.src_memory, 'device') = 'device'))",
		"its call waits for its own stream", PAIR_OVERLAP },
	{ "SELECT EXISTS (SELECT 1 FROM call c JOIN call_type t ON t.id = c.type"
	  " JOIN call_kind d ON d.name = t.kind WHERE c.id = ?1 AND ?1 > ?2 AND d.family = 'free')",
		"the host frees the memory, and no work on the device shows when", PAIR_HOLD },
	{ "SELECT (SELECT stream FROM call WHERE id = ?1) = (SELECT stream FROM call"
	  " WHERE id = ?2)",
		"the two are in one stream", PAIR_OVERLAP },
};

static int find_obstacle(struct pair *pair, struct db *db)
{
	if (pair->launch) {
		pair->why = "the two are nodes of one graph, which is launched as a whole";
		pair->method = PAIR_OVERLAP;
	}
	for (size_t i = 0; i < sizeof(obstacles) / sizeof(*obstacles) && !pair->why; i++) {
		sqlite3_stmt *q = db_prepare(db, obstacles[i].sql);
		int step = q && !db_bind(q, "ii", pair->consumer, pair->producer) ? db_step(q) : -1;

		if (step > 0 && sqlite3_column_int(q, 0) == 1) {
			pair->why = obstacles[i].text;
			pair->method = obstacles[i].method;
			if (pair->method == PAIR_HOLD)
				pair->obstacle = pair->why;
		}
		sqlite3_finalize(q);
		if (step < 0)
			return -1;
	}
	return 0;
}

/* --- names --- */

static char *name_of(const struct pair *pair, struct db *db, struct words *words, int64_t call)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc;

	if (!out)
		return NULL;
	if (pair->launch)
		rc = words_node(words, call, out);
	else if (call == pair->consumer && pair->is_host)
		rc = fputs("the program's own access", out) < 0 || words_place(words, call, out);
	else
		rc = words_operation(words, call, out);
	fclose(out);
	if (!rc)
		return text;
	free(text);
	return NULL;
}

static char *kernel_of(struct db *db, int64_t call)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT k.mangled FROM call c JOIN kernel k ON k.id = c.kernel WHERE c.id = ?");
	char *name = q && !db_bind(q, "i", call) && db_step(q) >= 0 ? strdup(db_text(q, 0)) : NULL;

	sqlite3_finalize(q);
	return name;
}

static int read_names(struct pair *pair, struct db *db)
{
	struct words *words = words_open(db);

	pair->kernels[0] = kernel_of(db, pair->consumer);
	pair->kernels[1] = kernel_of(db, pair->producer);

	if (words) {
		pair->names[0] = name_of(pair, db, words, pair->consumer);
		pair->names[1] = name_of(pair, db, words, pair->producer);
	}
	words_close(words);
	return pair->names[0] && pair->names[1] && pair->kernels[0] && pair->kernels[1] ? 0 : -1;
}

static int complete(struct pair *pair, struct db *db)
{
	pair->simulated = (int)db_int(db, "SELECT max(simulated) FROM process", 0);
	pair->plan.magic = HOLD_MAGIC;
	pair->plan.timeout = HOLD_NS;
	return find_obstacle(pair, db) || read_names(pair, db) ? -1 : 0;
}

/* --- findings --- */

static const char places_sql[] =
	"SELECT id FROM finding_place WHERE finding = ? AND shown AND hazard NOT NULL ORDER BY id";

int pair_places(struct db *db, int64_t finding, int64_t **places)
{
	sqlite3_stmt *q = db_prepare(db, places_sql);
	int step = q ? db_bind(q, "i", finding) : -1, count = 0;

	*places = NULL;
	while (!step && (step = db_step(q)) > 0) {
		*places = array_grown(*places, (size_t)count, sizeof(**places));
		(*places)[count++] = sqlite3_column_int64(q, 0);
		step = 0;
	}
	sqlite3_finalize(q);
	if (!step && !count)
		print(stderr,
			"cufence confirm: %lld is not the number of a race: \"cufence report\" "
			"numbers its findings, and only those of group fences can be confirmed\n",
			(long long)finding);
	return step || !count ? -1 : count;
}

static const char place_sql[] =
	"SELECT h.call, h.other_call, h.launch, f.rule, p.fingerprint, c.site, o.site, f.process,"
	" coalesce(s.text, '?') || ' after ' || coalesce(t.text, '?')"
	" FROM finding_place p JOIN finding f ON f.id = p.finding JOIN hazard h ON h.id = p.hazard"
	" JOIN call c ON c.id = h.call JOIN call o ON o.id = h.other_call"
	" LEFT JOIN site s ON s.id = p.site LEFT JOIN site t ON t.id = p.other_site"
	" WHERE p.id = ?";

static const char instances_sql[] =
	"SELECT h.call, h.other_call FROM hazard h JOIN call c ON c.id = h.call"
	" JOIN call o ON o.id = h.other_call WHERE h.rule = ? AND h.process = ? AND c.site = ?"
	" AND o.site = ? AND h.launch IS NULL"
	" AND c.type = (SELECT type FROM call WHERE id = ?)"
	" AND o.type = (SELECT type FROM call WHERE id = ?) ORDER BY h.other_call, h.call";

/* An earlier operation may have several later ones: the first is its try. */
static int add_instances(struct pair *pair, struct db *db, int64_t process, int64_t site,
	int64_t other_site)
{
	sqlite3_stmt *q = db_prepare(db, instances_sql);
	int64_t last = 0;
	int step = -1;

	if (q)
		step = db_bind(q, "siiiii", pair->rule, process, site, other_site, pair->consumer,
			pair->producer);
	while (!step && (step = db_step(q)) > 0) {
		int64_t producer = sqlite3_column_int64(q, 1);

		step = producer == last ? 0
					: add_try(pair, db, sqlite3_column_int64(q, 0), producer);
		last = producer;
	}
	sqlite3_finalize(q);
	return step;
}

static int is_by_host(const char *rule)
{
	return !strcmp(rule, "early-host-read") || !strcmp(rule, "early-host-write");
}

int pair_of_place(struct pair *pair, struct db *db, int64_t place)
{
	sqlite3_stmt *q = db_prepare(db, place_sql);
	int step = q && !db_bind(q, "i", place) ? db_step(q) : -1, rc = -1;

	*pair = (struct pair){ 0 };
	if (step > 0) {
		pair->consumer = sqlite3_column_int64(q, 0);
		pair->producer = sqlite3_column_int64(q, 1);
		pair->launch = sqlite3_column_int64(q, 2);
		pair->rule = strdup(db_text(q, 3));
		pair->fingerprint = strdup(db_text(q, 4));
		pair->place = strdup(db_text(q, 8));
		pair->is_host = is_by_host(db_text(q, 3));
		rc = !pair->rule || !pair->fingerprint || !pair->place || complete(pair, db) ||
			add_instances(pair, db, sqlite3_column_int64(q, 7),
				sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6));
	}
	sqlite3_finalize(q);
	return rc ? -1 : 0;
}

/* --- any two operations --- */

static int64_t call_of(struct db *db, int64_t operation)
{
	char sql[80];
	int64_t call;

	snprintf(sql, sizeof(sql), "SELECT call FROM operation WHERE id = %lld",
		(long long)operation);
	call = db_int(db, sql, 0);
	if (!call && !db->failed)
		print(stderr,
			"cufence confirm: there is no operation %lld, or its call was not "
			"recorded\n",
			(long long)operation);
	return call;
}

int pair_of_operations(struct pair *pair, struct db *db, int64_t one, int64_t other)
{
	int64_t first = call_of(db, one), second = first ? call_of(db, other) : 0;

	*pair = (struct pair){ 0 };
	if (!first || !second)
		return -1;
	if (first == second) {
		print(stderr, "cufence confirm: both operations are parts of one call\n");
		return -1;
	}
	pair->producer = first < second ? first : second;
	pair->consumer = first < second ? second : first;
	if (complete(pair, db) || add_try(pair, db, pair->consumer, pair->producer))
		return -1;
	/* The overlap method looks up the pair by the finding. */
	if (pair->why)
		pair->obstacle = pair->why;
	return 0;
}

void pair_release(struct pair *pair)
{
	free(pair->rule);
	free(pair->fingerprint);
	free(pair->place);
	for (int i = 0; i < 2; i++) {
		free(pair->names[i]);
		free(pair->kernels[i]);
	}
}
