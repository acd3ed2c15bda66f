/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <string.h>

#include "format.h"
#include "report_parts.h"

static int64_t duration(struct db *db)
{
	return db_int(db, "SELECT max(end) - min(start) FROM process", 0);
}

/* How the kinds of operation, stream and wait in the database are called, one and several. */
static const struct {
	const char *kind, *one, *many;
} kinds[] = {
	{ "kernel", "kernel", "kernels" },
	{ "memcpy", "copy", "copies" },
	{ "memset", "memset", "memsets" },
	{ "peer", "copy between devices", "copies between devices" },
	{ "graph", "graph", "graphs" },
	{ "legacy", "legacy default", "legacy default" },
	{ "per-thread", "per-thread default", "per-thread default" },
	{ "explicit", "explicit wait", "explicit waits" },
	{ "implicit", "implicit wait", "implicit waits" },
	{ "internal", "wait within the driver", "waits within the driver" },
	{ "behind", "wait behind another thread", "waits behind other threads" },
	{ "queue", "wait for a full launch queue", "waits for a full launch queue" },
};

static const char *kind_name(const char *kind, int64_t count)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].kind))
			return count == 1 ? kinds[i].one : kinds[i].many;
	return kind;
}

/* "3 kernels, 1 copy" from a query of counts and kinds. */
static int print_counts(struct db *db, const char *sql, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	const char *separator = "";
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t count = sqlite3_column_int64(q, 0);

		fprintf(out, "%s%lld %s", separator, (long long)count,
			kind_name((const char *)sqlite3_column_text(q, 1), count));
		separator = ", ";
	}
	sqlite3_finalize(q);
	return step;
}

static void print_run(struct db *db, FILE *out)
{
	char whole[DURATION_SIZE], inside[DURATION_SIZE];
	long long processes = db_int(db, "SELECT count(*) FROM process", 0);
	long long threads = db_int(db, "SELECT count(*) FROM thread_use WHERE calls > 0", 0);
	long long calls = db_int(db, "SELECT sum(calls) FROM thread_use", 0);

	fprintf(out,
		"    run      %s, %lld process%s, %lld thread%s, %lld CUDA call%s (%s inside)\n",
		format_duration(whole, duration(db)), processes, processes == 1 ? "" : "es",
		threads, threads == 1 ? "" : "s", calls, calls == 1 ? "" : "s",
		format_duration(inside, db_int(db, "SELECT sum(inside) FROM thread_use", 0)));
}

/* What findings' shares are not of: until then there was nothing to wait for. */
static void print_start(struct db *db, FILE *out)
{
	char start[DURATION_SIZE];
	int64_t before = db_int(db, "SELECT c.enter - (SELECT min(enter) FROM call) FROM call c "
		"WHERE c.id = (SELECT min(call) FROM operation)", 0);

	if (before > duration(db) / 10)
		fprintf(out, "    start    %s until the first work; percentages of findings are "
			"of what follows\n",
			format_duration(start, before));
}

/* Which part of the run was recorded, and what decided it. */
static int print_recording(struct db *db, FILE *out)
{
	char inside[DURATION_SIZE], whole[DURATION_SIZE];
	sqlite3_stmt *q = db_prepare(db, "SELECT coalesce(sum(work), 0),"
		" coalesce(sum((end - start) * work), 0), coalesce(sum(end - start), 0),"
		" replace(group_concat(DISTINCT cause) FILTER (WHERE cause <> 'start'),"
		"  ',', ', ') FROM recording"
		" WHERE EXISTS (SELECT 1 FROM recording WHERE NOT work)");
	int step = q ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_int64(q, 2)) {
		long long windows = sqlite3_column_int64(q, 0);
		fprintf(out, "    recorded %s of %s, in %lld window%s (by %s); percentages "
			"are of that\n",
			format_duration(inside, sqlite3_column_int64(q, 1)),
			format_duration(whole, sqlite3_column_int64(q, 2)), windows,
			windows == 1 ? "" : "s", (const char *)sqlite3_column_text(q, 3));
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* Without the stretches in which no work was recorded. */
static int64_t duration_recorded(struct db *db)
{
	return duration(db) - db_int(db, "SELECT coalesce(sum(end - start), 0) FROM recording"
		" WHERE NOT work AND (SELECT count(*) FROM process) = 1", 0);
}

/* Busy, and how much of that with more than one operation at a time. */
static void print_busy(int64_t busy, int64_t overlapped, int64_t whole, FILE *out)
{
	char used[DURATION_SIZE], share[DURATION_SIZE], both[DURATION_SIZE], part[DURATION_SIZE];

	fprintf(out, "busy %s (%s)", format_duration(used, busy),
		format_share(share, whole > 0 ? (double)busy / (double)whole : 0));
	if (overlapped)
		fprintf(out, ", %s of it overlapped (%s)", format_duration(both, overlapped),
			format_share(part, (double)overlapped / (double)busy));
}

#define DEVICE_NAME "d.name || CASE WHEN p.simulated AND d.name NOT LIKE '%simulated%'" \
	" THEN ' (simulated)' ELSE '' END"

/* One device is a name; of several each has a line. */
static int print_devices(struct db *db, FILE *out)
{
	enum { MOST = 16 };
	int64_t used = db_int(db, "SELECT count(*) FROM device_use", 0);
	sqlite3_stmt *q = db_prepare(db, used < 2
		? "SELECT DISTINCT " DEVICE_NAME " FROM device d JOIN process p ON p.id = d.process"
		: "SELECT coalesce(" DEVICE_NAME ", '?'), u.device, p.pid, u.busy, u.overlapped,"
		  " p.end - p.start FROM device_use u JOIN process p ON p.id = u.process"
		  " LEFT JOIN device d ON d.process = u.process AND d.ordinal = u.device"
		  " ORDER BY u.process, u.device LIMIT 16");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		fprintf(out, "    device   %s", (const char *)sqlite3_column_text(q, 0));
		if (used > 1) {
			fprintf(out, ", device %d, pid %d: ", sqlite3_column_int(q, 1),
				sqlite3_column_int(q, 2));
			print_busy(sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
				sqlite3_column_int64(q, 5), out);
		}
		fputc('\n', out);
	}
	sqlite3_finalize(q);
	if (!step && used > MOST)
		fprintf(out, "    device   and %lld more\n", (long long)used - MOST);
	return step;
}

static int print_work(struct db *db, FILE *out)
{
	if (!db_int(db, "SELECT count(*) FROM stream_use", 0))
		return 0;
	fputs("    work     ", out);
	if (print_counts(db, "SELECT sum(operations), kind FROM stream_use GROUP BY kind"
		" ORDER BY 1 DESC, kind", out) < 0)
		return -1;
	if (db_int(db, "SELECT count(*) FROM device_use", 0) == 1) {
		fputs("; ", out);
		print_busy(db_int(db, "SELECT busy FROM device_use", 0),
			db_int(db, "SELECT overlapped FROM device_use", 0),
			duration_recorded(db), out);
	}
	fputc('\n', out);
	return 0;
}

static int print_streams(struct db *db, FILE *out)
{
	long long all = db_int(db, "SELECT count(*) FROM stream", 0);
	long long used = db_int(db, "SELECT count(DISTINCT stream) FROM stream_use", 0);

	if (!all)
		return 0;
	fputs("    streams  ", out);
	if (print_counts(db, "SELECT count(*), kind FROM stream GROUP BY kind ORDER BY kind", out))
		return -1;
	if (used && used < all)
		fprintf(out, "; work on %lld of them", used);
	fputc('\n', out);
	return 0;
}

static int print_waits(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT kind, count(*), sum(waited) FROM wait"
		" WHERE kind != 'staged' GROUP BY kind ORDER BY kind");
	const char *separator = "    waits    ";
	char waited[DURATION_SIZE];
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		long long count = sqlite3_column_int64(q, 1);

		fprintf(out, "%s%s in %lld %s", separator,
			format_duration(waited, sqlite3_column_int64(q, 2)), count,
			kind_name((const char *)sqlite3_column_text(q, 0), count));
		separator = ", ";
	}
	sqlite3_finalize(q);
	if (*separator == ',')
		fputc('\n', out);
	return step;
}

/* How much of what happened is known; without a device side that is said below. */
static void print_coverage(struct db *db, FILE *out)
{
	long long operations = db_int(db, "SELECT sum(operations) FROM stream_use", 0);
	long long alone = db_int(db, "SELECT sum(unmatched) FROM stream_use", 0);
	long long kernels = db_int(db, "SELECT count(*) FROM kernel WHERE handle NOT NULL", 0);

	fputs("    coverage ", out);
	if (operations)
		fprintf(out, "%lld of %lld operations matched to a call, ", operations - alone,
			operations);
	fprintf(out, "call sites of %lld of %lld calls",
		(long long)db_int(db, "SELECT sum(placed) FROM thread_use", 0),
		(long long)db_int(db, "SELECT sum(calls) FROM thread_use", 0));
	if (kernels)
		fprintf(out, ", parameters of %lld of %lld kernels",
			(long long)db_int(db, "SELECT count(parameter_count) FROM kernel"
				" WHERE handle NOT NULL", 0), kernels);
	fputc('\n', out);
}

int report_summary(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT coalesce(command, '') FROM run");

	if (q && db_step(q) > 0 && *sqlite3_column_text(q, 0))
		fprintf(out, "cufence: %s\n", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	if (!db_int(db, "SELECT max(id) FROM call", 0)) {
		fputs("    nothing was traced: no CUDA call was recorded\n", out);
		return report_losses(db, out);
	}
	print_run(db, out);
	print_start(db, out);
	if (print_recording(db, out) || print_devices(db, out) || print_work(db, out) ||
		print_streams(db, out) || print_waits(db, out))
		return -1;
	print_coverage(db, out);
	return report_settings(db, out) || report_hung(db, out) || report_losses(db, out) ? -1 : 0;
}
