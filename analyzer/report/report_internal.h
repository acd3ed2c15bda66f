/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report that have their own file.  Each that returns: 0, or -1 after a message. */
#ifndef CUFENCE_REPORT_INTERNAL_H
#define CUFENCE_REPORT_INTERNAL_H

#include <stdio.h>

#include "db.h"

/*
 * For hazard h and allocation a: the bytes that both may use, and all bytes of the memory, with the
 * pieces mapped after it.  Bytes of an array have invented places: at most its size is returned.
 */
#define COMMON_BYTES(a) \
	"CASE " a ".memory WHEN 'array' THEN min(h.high - h.low, " a \
	".bytes)" \
	" ELSE h.high - h.low END"
#define WHOLE_BYTES(a) \
	"max(" a \
	".bytes, ifnull((SELECT max(part.shift + piece.bytes) FROM alias part" \
	" JOIN allocation piece ON piece.id = part.allocation WHERE part.same = " a ".id), 0))"

/* The answer of "cufence confirm" for place p, in words; NULL: it was not tried. */
#define CONFIRMATION(p) \
	"(SELECT replace(replace(result, 'order-missing', 'order missing, conflict not shown')," \
	"  '-', ' ') || ': ' || how FROM confirmation" \
	" WHERE fingerprint = " p ".fingerprint)"

/* The line of the source that site s names, where it can be read; of a connection that has
 * report_functions(). */
#define REPORT_SOURCE(s) \
	"source_line(" s ".file, " s \
	".line, (SELECT program.path FROM frame at" \
	" JOIN module program ON program.id = at.module WHERE at.site = " s \
	".id AND at.user LIMIT 1))"

/* Prints text with lines of at most width columns (0: as they are), broken at blanks; what goes on
 * stands below the text of a finding's line.  Says nothing. */
void report_wrap(const char *text, int width, FILE *out);

/* A row for each process. */
int report_processes(struct db *db, FILE *out);

/* The loop, and why devices idled in it. */
int report_account(struct db *db, FILE *out);

/* A device of a process, or its host thread (device DB_NULL), in the account. */
struct report_idling {
	int64_t process, device, turns; /* turns: 0: the account is of the run */
	/* ns: busy, with copies alone, with kernels and copies; idle, of that by the host's own
	 * pace, and outside of CUDA. */
	int64_t busy, copies, both, idle, pace, outside;
};

/*
 * SQL for a frame: whether it has a name, and is of the script if there is one; its file, of a
 * package from the package on, else its module, NULL: not known.
 */
#define REPORT_IS_NAMED \
	"f.function NOT NULL AND (f.code NOT NULL OR NOT EXISTS" \
	" (SELECT 1 FROM frame s WHERE s.site = f.site AND s.code NOT NULL))"
#define REPORT_BASE(path) "replace(" path ", rtrim(" path ", replace(" path ", '/', '')), '')"
#define REPORT_FILE \
	"CASE WHEN f.file IS NULL" \
	"  THEN (SELECT " REPORT_BASE("path") " FROM module WHERE id = f.module)" \
	" WHEN f.file GLOB '*/[sd]i[ts][et]-packages/*'" \
	"  THEN substr(f.file, instr(f.file, '-packages/') + 10)" \
	" ELSE " REPORT_BASE("f.file") " END"

/* Words for a cause of the host's time in table account; "": none. */
const char *report_host_cause(const char *cause);

/* Whether the process ran graphs that were not timed: then its device's busy time is not known. */
int report_has_untimed_graphs(struct db *db, int64_t process);

/* The functions in which the host was outside of CUDA while the device idled. */
int report_outside(struct db *db, const struct report_idling *of, FILE *out);

/* The largest cause of a pace that limits the loop. */
int report_pace(struct db *db, const struct report_idling *of, FILE *out);

/* The command that says what orders the operations of a finding's worst instance, if it has two. */
int report_order(struct db *db, int64_t finding, FILE *out);

/* What the streams of a finding are: who made them, and what they run. */
int report_streams(struct db *db, int64_t finding, FILE *out);

/* The time that all findings of a process save together, and why no closer estimate exists. */
int report_together(struct db *db, FILE *out);

/* Settings and notes that explain an unexpected result. */
int report_settings(struct db *db, FILE *out);

/* Calls in which a process ended. */
int report_hung(struct db *db, FILE *out);

/* Reasons why the run failed (failures 1), or known gaps of the trace (0). */
int report_losses(struct db *db, int failures, FILE *out);

/* The effect of an environment setting on the report; NULL: none. */
const char *report_setting_meaning(struct db *db, const char *name, const char *value);

/* Notes that explain an unexpected result, one text per row. */
extern const char report_notes_sql[];

/* The text of a loss with its count in place of "%lld"; to be freed by sqlite3_free(). */
char *report_loss_text(const char *text, int64_t count);

/* The same, and why there is no device side: CUPTI's state and error as in table process; holder:
 * another tool, NULL: not known.  Takes text, which may be NULL, and gives a new one. */
char *report_cupti_text(char *text, const char *state, int error, const char *holder);

#endif
