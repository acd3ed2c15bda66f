/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls of a finding are treated how, or why they are not. */
#include <stdlib.h>
#include <string.h>

#include "call_place.h"
#include "calls.h"
#include "image.h"
#include "image_hash.h"
#include "memory.h"
#include "rules.h"
#include "trial.h"

static const struct treatment {
	enum rule rule;
	enum fix_treatment treatment;
	enum kind_family family;
	enum fix_treatment partly;
	const char *reason;
} treatments[] = {
#define TREAT(rule, treatment, family, partly) \
	{ RULE_##rule, FIX_##treatment, FAMILY_##family, FIX_##partly, NULL },
#define LEAVE(rule, reason) { RULE_##rule, FIX_NOTHING, FAMILY_other, FIX_NOTHING, reason },
#include "treatments.def"
};

static const struct treatment *treatment_of(const char *rule)
{
	const struct rule_info *info = rule_find(rule);

	for (size_t i = 0; info && i < sizeof(treatments) / sizeof(*treatments); i++)
		if (treatments[i].rule == info - rules)
			return &treatments[i];
	return NULL;
}

int trial_adds_order(const char *rule)
{
	const struct treatment *treatment = treatment_of(rule);

	return treatment && treatment->treatment == FIX_FENCE;
}

/* --- places --- */

/* Why calls of that function are not treated; NULL: they are. */
static const char *call_obstacle(const struct treatment *treatment, enum call_id call)
{
	enum call_kind kind = call_types[call].kind;
	int leaves_out = treatment->treatment == FIX_LEAVE_OUT;

	if (treatment->treatment == FIX_MOVE)
		return kind_has(kind, K_ACCESSES) && !kind_has(kind, K_DEFAULT_STREAM | K_UNTIMED)
			? NULL
			: "only launches, asynchronous copies and memsets are moved to another "
			  "stream";
	if (treatment->treatment == FIX_STAGE)
		return call == CALL_cuMemcpyHtoDAsync_v2
			? NULL
			: "only uploads by cuMemcpyHtoDAsync are copied through pinned memory";
	if (kind_family(kind) != treatment->family &&
		!(leaves_out && kind_family(kind) == FAMILY_event_wait))
		return "calls that were made to do something else wait there, too";
	return kind == KIND_UNREGISTER_HOST
		? "the program may give registered memory back, which would stay pinned"
		: NULL;
}

int trial_add_place(struct trial *trial, struct db *db, int64_t site, const char *name,
	enum fix_side side)
{
	struct trial_place place = { .site = site,
		.place.treatment = (uint8_t)trial->fix.treatment,
		.place.side = (uint8_t)side };
	enum call_id call = call_named(name);
	int frames;

	if (call == CALL_COUNT)
		return trial_refuse(trial, "this version does not know %s", name);
	if (trial->places == FIX_PLACES)
		return trial_refuse(trial, "its calls come from more than %d call paths",
			FIX_PLACES);
	frames = call_place_read(db, site, &place.place.place.place);
	if (frames < 0)
		return -1;
	if (!frames)
		return trial_refuse(trial, "the place of a call was not recorded");
	place.place.place.call = (uint32_t)call;
	trial->place = array_grown(trial->place, trial->places, sizeof(*trial->place));
	trial->place[trial->places++] = place;
	return 0;
}

/* --- calls at the lines of a finding --- */

/* Lines of findings f, the calls w there, and all calls c of the same function at these lines. */
#define AT_LINES \
	"(SELECT finding, site, call FROM finding_place" \
	" UNION SELECT finding, site, call FROM finding_also)"
#define CALLS_THERE(f) \
	" FROM " AT_LINES \
	" p JOIN site a ON a.id = p.site JOIN call w ON w.id = p.call" \
	" JOIN site s ON s.process = a.process AND s.text IS a.text AND s.function IS a.function" \
	" JOIN call c ON c.site = s.id AND c.type = w.type" \
	" JOIN call_type t ON t.id = c.type AND NOT t.runtime WHERE p.finding = " f

/*
 * A line's waits that no finding calls needless may be needed.  Those that repeat another wait are
 * known when they are made, and those for a stream that never has anything wait for nothing.
 */
static const char all_sql[] =
	"SELECT count(DISTINCT c.id)" CALLS_THERE("?1")
	" AND NOT EXISTS (SELECT 1 FROM call_kind k JOIN stream m ON m.id = c.stream"
	"  WHERE k.name = t.kind AND k.waits = 'stream' AND m.kind IN ('blocking', 'non-blocking')"
	"  AND NOT EXISTS (SELECT 1 FROM call u JOIN call_type v ON v.id = u.type"
	"   JOIN call_kind l ON l.name = v.kind WHERE l.any_stream AND l.family <> 'context_end')"
	"  AND m.id NOT IN (SELECT u.stream FROM call u JOIN call_type v ON v.id = u.type"
	"   JOIN call_kind l ON l.name = v.kind WHERE (l.work OR l.silent OR l.marker)"
	"   AND u.stream NOT NULL))";
static const char found_sql[] =
	"SELECT f.rule, sum(p.count) FROM finding_place p JOIN finding f ON f.id = p.finding"
	" JOIN site b ON b.id = p.site WHERE (b.process, b.text, b.function) IN"
	"  (SELECT a.process, a.text, a.function FROM " AT_LINES
	" q JOIN site a ON a.id = q.site"
	"   WHERE q.finding = ?1) GROUP BY f.rule";

static int check_needed(struct trial *trial, struct db *db)
{
	sqlite3_stmt *all = db_prepare(db, all_sql), *found = db_prepare(db, found_sql);
	int step = all && found && !db_bind(all, "i", trial->finding) ? db_step(all) : -1;
	long long waits = step > 0 ? sqlite3_column_int64(all, 0) : 0, needed = waits;

	step = step < 0 ? -1 : db_bind(found, "i", trial->finding);
	while (!step && (step = db_step(found)) > 0) {
		const struct treatment *treatment = treatment_of(db_text(found, 0));

		if (treatment && treatment->treatment == FIX_LEAVE_OUT)
			needed -= sqlite3_column_int64(found, 1);
		step = 0;
	}
	if (!step && needed > 0 && treatment_of(trial->rule)->partly)
		trial->fix.treatment = treatment_of(trial->rule)->partly;
	else if (!step && needed > 0)
		step = trial_refuse(trial, "%lld of the %lld waits there may be needed", needed,
			waits);
	sqlite3_finalize(all);
	sqlite3_finalize(found);
	return step;
}

static int add_call(struct trial *trial, struct db *db, const struct treatment *treatment,
	sqlite3_stmt *q)
{
	enum call_id call = call_named(db_text(q, 1));
	const char *obstacle = call == CALL_COUNT ? NULL : call_obstacle(treatment, call);

	if (!obstacle)
		return trial_add_place(trial, db, sqlite3_column_int64(q, 0), db_text(q, 1),
			treatment->treatment == FIX_MOVE ? FIX_MOVED : FIX_LATER);
	trial->untreated = call_types[call].name;
	trial->why = obstacle;
	return 0;
}

static int find_at_lines(struct trial *trial, struct db *db, const struct treatment *treatment)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT DISTINCT c.site, t.name" CALLS_THERE("?1"));
	int step = q ? db_bind(q, "i", trial->finding) : -1;

	while (!step && !trial->refusal && (step = db_step(q)) > 0)
		step = add_call(trial, db, treatment, q);
	sqlite3_finalize(q);
	if (step < 0)
		return -1;
	trial->fix.reuses_host = treatment->family == FAMILY_host_memory;
	if (!trial->refusal && !trial->places && trial->untreated)
		return trial_refuse(trial, "%s (%s)", trial->why, trial->untreated);
	if (!trial->refusal && !trial->places)
		return trial_refuse(trial, "the places of its calls were not recorded");
	return 0;
}

/* --- the two calls of a fence --- */

/* Pairs of the finding's rule between its pairs of lines. */
static const char pairs_sql[] =
	"SELECT DISTINCT c.site, ct.name, o.site, ot.name, h.launch NOT NULL, c.stream IS o.stream,"
	" c.id < o.id, ok.family = 'stream_free', h.launch IS NULL AND c.stream IS NULL"
	" FROM finding f JOIN finding_place p ON p.finding = f.id"
	" JOIN site a ON a.id = p.site JOIN site b ON b.id = p.other_site"
	" JOIN hazard h ON h.rule = f.rule"
	" JOIN call c ON c.id = h.call JOIN call_type ct ON ct.id = c.type"
	" JOIN call o ON o.id = h.other_call JOIN call_type ot ON ot.id = o.type"
	" JOIN call_kind ok ON ok.name = ot.kind"
	" JOIN site s ON s.id = c.site JOIN site t ON t.id = o.site"
	" WHERE f.id = ? AND s.text IS a.text AND s.function IS a.function"
	" AND t.text IS b.text AND t.function IS b.function";

static const char *pair_obstacle(sqlite3_stmt *q)
{
	if (sqlite3_column_int(q, 4))
		return "the two are nodes of one graph, which is launched as a whole";
	if (sqlite3_column_int(q, 5))
		return "the two are in one stream: an event in it would order nothing";
	if (sqlite3_column_int(q, 6))
		return "the call that is to come later was made first";
	if (sqlite3_column_int(q, 7))
		return "the memory is used after it was freed, in any order";
	if (sqlite3_column_int(q, 8))
		return "the later one has no stream that could wait for an event";
	return NULL;
}

static int find_pairs(struct trial *trial, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, pairs_sql);
	int step = q ? db_bind(q, "i", trial->finding) : -1;

	while (!step && !trial->refusal && (step = db_step(q)) > 0) {
		const char *obstacle = pair_obstacle(q);

		if (obstacle)
			step = trial_refuse(trial, "%s", obstacle);
		else if (trial_add_place(trial, db, sqlite3_column_int64(q, 0), db_text(q, 1),
				 FIX_LATER) ||
			trial_add_place(trial, db, sqlite3_column_int64(q, 2), db_text(q, 3),
				FIX_EARLIER))
			step = -1;
		else
			step = 0;
	}
	sqlite3_finalize(q);
	if (step >= 0 && !trial->refusal && !trial->places)
		return trial_refuse(trial, "the places of the two calls were not recorded");
	return step < 0 ? -1 : 0;
}

/* --- code without variables --- */

/* The sections of a cubin that hold variables, and constants that the program may set. */
static int cubin_has_variables(const struct image_code *code)
{
	static const char *const sections[] = { ".nv.global", ".nv.constant3", ".nv.managed" };

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		if (memmem(code->data, code->size, sections[i], strlen(sections[i])))
			return 1;
	return 0;
}

/* A directive that declares one begins a line, or comes after .visible, .extern and the like. */
static int ptx_has_variables(const struct image_code *code)
{
	static const char *const spaces[] = { ".global", ".const", ".managed" };
	const char *text = code->data, *end = text + code->size;

	for (const char *at = text; at < end; at++) {
		/* Not "ld.global", nor ".param .u64 .ptr .global". */
		if (*at != '.' || (at > text && !strchr(" \t\n;", at[-1])))
			continue;
		for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
			size_t length = strlen(spaces[i]);

			if ((size_t)(end - at) > length && !memcmp(at, spaces[i], length) &&
				strchr(" \t\n", at[length]) &&
				!(at - text >= 5 && !memcmp(at - 5, ".ptr ", 5)))
				return 1;
		}
	}
	return 0;
}

static int has_variables(const void *bytes, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct image image = { 0 };
	int found = 0;

	if (image_read(bytes, size, &image, error))
		return 1;
	for (size_t i = 0; i < image.count && !found; i++)
		found = image.code[i].kind == IMAGE_PTX ? ptx_has_variables(&image.code[i])
							: cubin_has_variables(&image.code[i]);
	found |= !image.count;
	image_release(&image);
	return found;
}

/* Images that were made in memory, in pieces. */
static const char images_sql[] = "SELECT DISTINCT hash, total FROM image_piece ORDER BY hash";
static const char pieces_sql[] =
	"SELECT DISTINCT offset, data FROM image_piece WHERE hash = ? ORDER BY offset";

/* The bytes of an image, to be freed; NULL: incomplete. */
static char *read_pieces(struct db *db, int64_t hash, int64_t total)
{
	sqlite3_stmt *q = db_prepare(db, pieces_sql);
	char *bytes =
		total > 0 && total <= (int64_t)IMAGE_MOST_BYTES ? malloc((size_t)total) : NULL;
	int step = q && bytes ? db_bind(q, "i", hash) : -1;
	int64_t at = 0;

	while (!step && (step = db_step(q)) > 0) {
		int64_t size = sqlite3_column_bytes(q, 1);

		step = sqlite3_column_int64(q, 0) == at && size <= total - at ? 0 : -1;
		if (!step && size)
			memcpy(bytes + at, sqlite3_column_blob(q, 1), (size_t)size);
		at += size;
	}
	sqlite3_finalize(q);
	if (!step && at == total && image_has_hash(bytes, (uint64_t)total, (uint64_t)hash))
		return bytes;
	free(bytes);
	return NULL;
}

static int find_images(struct trial *trial, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, images_sql);
	int step = q ? 0 : -1, variables = 0;

	while (!step && trial->images < FIX_IMAGES && (step = db_step(q)) > 0) {
		int64_t hash = sqlite3_column_int64(q, 0), total = sqlite3_column_int64(q, 1);
		char *bytes = read_pieces(db, hash, total);

		if (bytes && !has_variables(bytes, (size_t)total))
			trial->image[trial->images++] = image_hash(bytes, (uint64_t)total);
		else
			variables += bytes != NULL;
		free(bytes);
		step = 0;
	}
	sqlite3_finalize(q);
	if (step < 0)
		return -1;
	if (!trial->images && variables)
		return trial_refuse(trial,
			"the code has variables, which a module that is loaded "
			"again has as they were at first");
	if (!trial->images)
		return trial_refuse(trial,
			"only code that the program makes in memory is "
			"remembered");
	return 0;
}

int trial_find_calls(struct trial *trial, struct db *db)
{
	const struct treatment *treatment = treatment_of(trial->rule);

	if (!treatment || treatment->reason)
		return trial_refuse(trial,
			"only a change of the program does this: %s (\"cufence help %s\")",
			treatment ? treatment->reason : "", trial->rule);
	trial->fix.treatment = (uint32_t)treatment->treatment;
	if (treatment->treatment == FIX_FENCE)
		return find_pairs(trial, db);
	if (treatment->treatment == FIX_REMEMBER)
		return find_images(trial, db);
	if (treatment->treatment == FIX_MOVE) {
		if (find_at_lines(trial, db, treatment))
			return -1;
		return trial->refusal ? 0 : trial_find_apart(trial, db);
	}
	if (treatment->family == FAMILY_other)
		return 0;
	if (treatment->treatment == FIX_LEAVE_OUT && check_needed(trial, db))
		return -1;
	return trial->refusal ? 0 : find_at_lines(trial, db, treatment);
}
