/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: queries for all that a report says about a run besides its findings.  Text and JSON take
 * their numbers from the same rows.  Columns are named as in JSON, with the unit at the end; a name
 * that ends with '?' is a boolean.
 */
#ifndef CUFENCE_REPORT_FACTS_H
#define CUFENCE_REPORT_FACTS_H

#include "db.h"

/* Columns that the text needs by number, in the order of the queries in report_facts.c. */
enum report_fact {
	FACT_RUN,
	FACT_RECORDING,
	FACT_PROCESSES,
	FACT_WINDOWS,
	FACT_DEVICES,
	FACT_OPERATIONS,
	FACT_STREAMS,
	FACT_NAMED_STREAMS,
	FACT_WAITS,
	FACT_LOOPS,
	FACT_INNER_LOOPS,
	FACT_CEILING,
	FACT_ACCOUNT,
	FACT_OUTSIDE,
	FACT_FUNCTIONS,
	FACT_OTHER_CALLS,
	FACT_BLOCKED,
	FACT_COVERAGE,
	FACT_ACCESSES,
	FACT_UNSEEN,
	FACT_SHARED,
	FACT_SETTINGS,
	FACT_NOTES,
	FACT_HUNG,
	FACT_LOSSES,
	FACT_COUNT
};

enum report_run_column {
	RUN_DURATION,
	RUN_RECORDED,
	RUN_START,
	RUN_PROCESSES,
	RUN_THREADS,
	RUN_CALLS,
	RUN_INSIDE,
	RUN_STREAMS,
	RUN_STREAMS_USED,
	RUN_DEVICES_USED
};

enum report_coverage_column {
	COVERAGE_OPERATIONS,
	COVERAGE_MATCHED,
	COVERAGE_CALLS,
	COVERAGE_PLACED,
	COVERAGE_KERNELS,
	COVERAGE_PARAMETERS
};

enum report_accesses_column {
	ACCESSES_LAUNCHES,
	ACCESSES_COMPLETE,
	ACCESSES_INCOMPLETE /* kernels */
};

enum report_devices_column {
	DEVICES_PROCESS,
	DEVICES_PID,
	DEVICES_DEVICE,
	DEVICES_NAME,
	DEVICES_SIMULATED,
	DEVICES_BUSY,
	DEVICES_OVERLAPPED,
	DEVICES_WHOLE,
	DEVICES_SINCE_FIRST,
	DEVICES_USED
};

enum report_loops_column {
	LOOPS_PROCESS,
	LOOPS_PID,
	LOOPS_PLACE,
	LOOPS_TURNS,
	LOOPS_START,
	LOOPS_END,
	LOOPS_TURN,
	LOOPS_WARM,
	LOOPS_PAUSED
};

enum report_inner_loops_column { INNER_LOOPS_PROCESS, INNER_LOOPS_PLACE, INNER_LOOPS_TURNS };

/* Times of a turn: as it is, what is saved, and still blocked; the same without reads; busy. */
enum report_ceiling_column {
	CEILING_PROCESS,
	CEILING_TURN,
	CEILING_SAVED,
	CEILING_BLOCKED,
	CEILING_UNREAD_SAVED,
	CEILING_UNREAD_BLOCKED,
	CEILING_BUSY
};

enum report_account_column {
	ACCOUNT_PROCESS,
	ACCOUNT_DEVICE,
	ACCOUNT_CAUSE,
	ACCOUNT_TIME,
	ACCOUNT_TIMES
};

enum report_outside_column {
	OUTSIDE_PROCESS,
	OUTSIDE_DEVICE,
	OUTSIDE_FROM,
	OUTSIDE_TO,
	OUTSIDE_TIME,
	OUTSIDE_TIMES,
	OUTSIDE_IN_FUNCTION
};

enum report_functions_column {
	FUNCTIONS_PROCESS,
	FUNCTIONS_DEVICE,
	FUNCTIONS_FUNCTION,
	FUNCTIONS_PLACE,
	FUNCTIONS_OWN,
	FUNCTIONS_TIME,
	FUNCTIONS_SELF,
	FUNCTIONS_LONG
};

enum report_other_calls_column {
	OTHER_CALLS_PROCESS,
	OTHER_CALLS_DEVICE,
	OTHER_CALLS_CALL,
	OTHER_CALLS_PLACE,
	OTHER_CALLS_TIME
};

enum report_blocked_column {
	BLOCKED_PROCESS,
	BLOCKED_FROM,
	BLOCKED_TO,
	BLOCKED_UNTIL,
	BLOCKED_STREAM,
	BLOCKED_STREAM_NAME,
	BLOCKED_THREAD,
	BLOCKED_PLACE,
	BLOCKED_TIME
};

enum report_fact_shape {
	FACT_OBJECT, /* one row */
	FACT_ROWS,
	FACT_VALUES /* rows of one column */
};

extern const struct report_fact_info {
	const char *name; /* in JSON */
	enum report_fact_shape shape;
	const char *sql;
} report_facts[FACT_COUNT];

/* Adds the SQL functions that facts and findings use: once for a database, before any of them is
 * prepared.  0, or -1 after a message. */
int report_functions(struct db *db);

/* The rows of a fact, NULL after a message; sqlite3_finalize() frees it. */
sqlite3_stmt *report_fact(struct db *db, enum report_fact fact);

/* Words for a cause of table account, for a device or the host; whether the device is busy then. */
const char *report_cause_text(const char *cause, int host);
int report_cause_is_busy(const char *cause);

#endif
