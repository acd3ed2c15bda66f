/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings that are not shown by default and still of weight, said in one line: those that would
 * save HIGH_PERCENT or more, if they are true, and races that confirm can try.
 */
#ifndef CUFENCE_REPORT_POSSIBLE_H
#define CUFENCE_REPORT_POSSIBLE_H

#include <stdio.h>

#include "db.h"
#include "report.h"

/* For temp.verdict (verdict.h): leaves out findings that an export has, or that were accepted. */
#define POSSIBLE_WITHOUT_VERDICT \
	"NOT EXISTS (SELECT 1 FROM temp.verdict v WHERE v.finding = f.id AND v.state <> 'hidden')"

/* The one named in the line costs the most time; it is a race only if all are. */
struct report_possible {
	int64_t count, races; /* count includes races; 0: there is nothing to say */
	int64_t finding;      /* the one named */
};

/*
 * Returns "2 possible findings, the largest at app.cu:12 in step: ...: cufence report ...", to be
 * freed: empty if there is nothing to say, NULL after a message.  Only findings f for which the SQL
 * condition holds are counted.  The command shows them, or settles the only one if it is a race; it
 * names the database if named is not 0, which formats leave to their reader.
 */
char *report_possible(struct db *db, const char *condition, int named,
	struct report_possible *possible);

/*
 * Prints "2 hidden: 1 only possible, 1 would save less than 1 %" about the findings that the
 * level leaves out, without those of the line above; nothing if there are none.  Returns how many,
 * -1 after a message.
 */
int64_t report_hidden(struct db *db, enum report_level level, FILE *out);

#endif
