/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of fixes that were tried.  It has the frames of each call, and the errors that the
 * recorded run had without a fix: others are a surprise (fix/alone/alone.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "fix_file.h"
#include "print.h"
#include "record.h"
#include "trial.h"

/* As call_place.c adds them up. */
static const char frames_sql[] =
	"SELECT f.address, coalesce(m.path, ''), f.address - m.start + m.file_offset,"
	" coalesce(m.build_id, '') FROM frame f"
	" LEFT JOIN module m ON m.id = f.module WHERE f.site = ? ORDER BY f.depth";

static const char errors_sql[] =
	"SELECT DISTINCT t.name, c.result FROM call c JOIN call_type t ON t.id = c.type"
	" WHERE NOT t.runtime AND c.result > 0 AND c.result <> ? ORDER BY 1, 2";

static int is_zero(const char *digits)
{
	return !digits[strspn(digits, "0")];
}

static int write_frames(int64_t site, struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, frames_sql);
	int step = q ? db_bind(q, "i", site) : -1;
	int64_t last = 0;

	while (!step && (step = db_step(q)) > 0) {
		int64_t address = sqlite3_column_int64(q, 0);
		const char *path = db_text(q, 1), *slash = strrchr(path, '/');
		const char *build_id = db_text(q, 3);

		step = 0;
		if (address == last)
			continue;
		last = address;
		print(out, "at %s %llx %s\n", is_zero(build_id) ? "-" : build_id,
			(unsigned long long)sqlite3_column_int64(q, 2), slash ? slash + 1 : path);
	}
	sqlite3_finalize(q);
	return step;
}

static int write_fix(const struct trial *trial, struct db *db, FILE *out)
{
	int rc = 0;

	print(out, "\n# %s: ", trial->rule);
	trial_say_saving(&trial->saving, NULL, out);
	print(out, "\nfix %lld %s%s\n", (long long)trial->finding,
		fix_treatment_names[trial->fix.treatment],
		trial->fix.reuses_host ? " reuse-host" : "");
	for (unsigned i = 0; i < trial->images; i++)
		print(out, "image %llx\n", (unsigned long long)trial->image[i]);
	for (size_t i = 0; i < trial->places && !rc; i++) {
		const struct fix_place *place = &trial->place[i].place;

		const char *side = fix_side_name((enum fix_treatment)place->treatment, place->side);

		print(out, "call %s%s%s\n", call_types[place->place.call].name, *side ? " " : "",
			side);
		rc = write_frames(trial->place[i].site, db, out);
	}
	return rc;
}

static int write_errors(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, errors_sql);
	int step = q ? db_bind(q, "i", (int64_t)RESULT_NOT_READY) : -1, count = 0;

	while (!step && (step = db_step(q)) > 0) {
		if (!count++)
			print(out, "\n# these returned errors without the fixes, too\n");
		print(out, "error %s %d\n", db_text(q, 0), sqlite3_column_int(q, 1));
		step = 0;
	}
	sqlite3_finalize(q);
	return step;
}

/* Lines of a script are below eight frames of its interpreter, which the library does not read. */
static int has_script(const struct trial *trial, struct db *db, int *found)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT address FROM frame WHERE site = ?");
	int rc = q ? 0 : -1;

	*found = 0;
	for (size_t i = 0; i < trial->places && !rc; i++) {
		rc = db_bind(q, "i", trial->place[i].site);
		while (!rc && (rc = db_step(q)) > 0) {
			*found |= IS_SCRIPT_FRAME((uint64_t)sqlite3_column_int64(q, 0));
			rc = 0;
		}
	}
	sqlite3_finalize(q);
	return rc;
}

int trial_keep(const char *path, struct trial *const *trials, size_t count, struct db *db)
{
	FILE *out;
	int rc = 0, script = 0;

	for (size_t i = 0; i < count && !rc && !script; i++)
		rc = has_script(trials[i], db, &script);
	if (rc)
		return -1;
	if (script) {
		print(stderr,
			"cufence try: '%s' is not written: its calls differ by lines of "
			"Python, which only the recorder reads\n",
			path);
		return -1;
	}
	out = fopen(path, "we");
	if (!out) {
		print(stderr, "cufence try: cannot write '%s': %s\n", path, strerror(errno));
		return -1;
	}
	print(out,
		FIX_FILE_HEAD
		"\n"
		"# fixes for a program as it is, which \"cufence try\" found to be "
		"safe and to save time; to apply them:\n"
		"#   cufence fix FILE -- CMD...\n");
	for (size_t i = 0; i < count && !rc; i++)
		rc = write_fix(trials[i], db, out);
	rc = rc || write_errors(db, out);
	if (fclose(out) && !rc) {
		print(stderr, "cufence try: cannot write '%s': %s\n", path, strerror(errno));
		rc = -1;
	}
	if (rc)
		unlink(path);
	return rc ? -1 : 0;
}
