/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report_facts.h"

/* Calls add for each row of the process, whose id is in the first column. */
static int read_rows(struct status *status, sqlite3_stmt *q, int64_t process,
	void (*add)(struct status *status, sqlite3_stmt *q))
{
	int rc = q ? 0 : -1;

	while (rc >= 0 && (rc = db_step(q)) > 0)
		if (sqlite3_column_int64(q, 0) == process)
			add(status, q);
	sqlite3_finalize(q);
	return rc;
}

static void add_loop(struct status *status, sqlite3_stmt *q)
{
	free(status->place);
	status->place = xstrdup(db_text(q, LOOPS_PLACE));
	status->turns = sqlite3_column_int64(q, LOOPS_TURNS);
	status->turn = sqlite3_column_int64(q, LOOPS_TURN);
}

static void add_device(struct status *status, sqlite3_stmt *q)
{
	struct status_device device = {
		.device = sqlite3_column_int64(q, DEVICES_DEVICE),
		.busy = sqlite3_column_int64(q, DEVICES_BUSY),
		.since = sqlite3_column_int64(q, DEVICES_SINCE_FIRST),
	};

	if (sqlite3_column_int(q, DEVICES_USED) && device.since > 0)
		*array_push(status->device, status->devices) = device;
}

static void add_wait(struct status *status, sqlite3_stmt *q)
{
	*array_push(status->wait, status->waits) = (struct status_part){
		.name = xstrdup(db_text(q, 1)),
		.ns = sqlite3_column_int64(q, 2),
	};
}

/* Causes of a device that idles, without the rows of the host and of a busy device. */
static void add_idle(struct status *status, sqlite3_stmt *q)
{
	const char *cause = db_text(q, ACCOUNT_CAUSE);

	if (sqlite3_column_type(q, ACCOUNT_DEVICE) == SQLITE_NULL || report_cause_is_busy(cause))
		return;
	*array_push(status->idle, status->idles) = (struct status_part){
		.name = xstrdup(cause),
		.device = sqlite3_column_int64(q, ACCOUNT_DEVICE),
		.ns = sqlite3_column_int64(q, ACCOUNT_TIME),
	};
}

static void add_finding(struct status *status, sqlite3_stmt *q)
{
	int estimated = sqlite3_column_type(q, 4) != SQLITE_NULL;

	*array_push(status->finding, status->findings) = (struct status_finding){
		.rule = xstrdup(db_text(q, 1)),
		.severity = xstrdup(db_text(q, 2)),
		.message = xstrdup(db_text(q, 3)),
		.share = estimated ? sqlite3_column_double(q, 4) : -1,
	};
}

static int64_t process_of(struct db *db, const char *trace, int64_t *recorded)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT p.id, p.end - p.start - (SELECT coalesce(sum(r.end - r.start), 0)"
		"  FROM recording r WHERE r.process = p.id AND NOT r.work) FROM process p"
		" WHERE p.trace_path = ?");
	int rc = q && !db_bind(q, "s", trace) ? db_step(q) : -1;
	int64_t process = rc;

	if (rc > 0) {
		process = sqlite3_column_int64(q, 0);
		*recorded = sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	return process;
}

int status_read(struct status *status, struct db *db, const char *trace)
{
	int64_t process;

	*status = (struct status){ 0 };
	process = process_of(db, trace, &status->recorded);
	if (process <= 0)
		return (int)process;
	if (read_rows(status, report_fact(db, FACT_LOOPS), process, add_loop) ||
		read_rows(status, report_fact(db, FACT_DEVICES), process, add_device) ||
		read_rows(status, report_fact(db, FACT_ACCOUNT), process, add_idle) ||
		read_rows(status,
			db_prepare(db,
				"SELECT process, kind, waited FROM wait_use ORDER BY 3 DESC"),
			process, add_wait) ||
		read_rows(status,
			db_prepare(db,
				"SELECT process, rule, severity, message, share FROM finding"
				" WHERE shown ORDER BY id"),
			process, add_finding))
		return -1;
	return 1;
}

static void release_parts(struct status_part *part, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(part[i].name);
	free(part);
}

void status_release(struct status *status)
{
	release_parts(status->wait, status->waits);
	release_parts(status->idle, status->idles);
	for (size_t i = 0; i < status->findings; i++) {
		free(status->finding[i].rule);
		free(status->finding[i].severity);
		free(status->finding[i].message);
	}
	free(status->finding);
	free(status->device);
	free(status->place);
	*status = (struct status){ 0 };
}

double status_busy(const struct status *status)
{
	double busy = 0, since = 0;

	for (size_t i = 0; i < status->devices; i++) {
		busy += (double)status->device[i].busy;
		since += (double)status->device[i].since;
	}
	return since > 0 ? busy / since : -1;
}

double status_waited(const struct status *status)
{
	double waited = 0;

	for (size_t i = 0; i < status->waits; i++)
		waited += (double)status->wait[i].ns;
	return status->recorded > 0 ? waited / (double)status->recorded : 0;
}
