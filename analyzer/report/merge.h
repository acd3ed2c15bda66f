/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of one place in several processes are one in reports.  Tables temp.finding and
 * temp.finding_place stand in front of those of the database, so that every format reads the same
 * rows; ids stay those of the database.  A run of one process has neither.  The database is not
 * changed.
 *
 * Findings of a rule are one if they have a place in common: the same fingerprint in the same file.
 * The finding shown is the one of them with the highest severity, the first of these.  Its numbers
 * are those of its process: savings of processes that run side by side do not add up.  It has the
 * places of all, its own first; one that several have is as its own process has it.
 */
#ifndef CUFENCE_MERGE_H
#define CUFENCE_MERGE_H

#include "db.h"

/*
 * The tables:
 * temp.merged: a row for each finding of the database (id) and the finding that shows it (finding)
 * temp.merged_place: the same for places (place, id, finding); own: the id as one that is shown
 * temp.spread: for findings of a run of several processes, what is printed in front of their cost
 */
#define MERGED_SPREAD(f) "(SELECT text FROM temp.spread WHERE finding = " f ".id)"

/* JSON: finding f as each process has it; NULL: the run has one process. */
#define MERGED_PROCESSES(f) \
	"(SELECT json_group_array(json_object('finding', id, 'process', process, 'pid', pid," \
	" 'message', message, 'confidence', confidence, 'severity', severity," \
	" 'shown', json(iif(shown, 'true', 'false')), 'count', count, 'waited_ns', waited," \
	" 'delayed_ns', delayed, 'saving_ns', saving, 'saving_low_ns', saving_low," \
	" 'saving_high_ns', saving_high, 'share', share, 'turn_saving_ns', turn_saving))" \
	" FROM (SELECT g.*, p.pid FROM temp.merged m JOIN main.finding g ON g.id = m.id" \
	"  JOIN process p ON p.id = g.process WHERE m.finding = " f \
	".id ORDER BY g.process, g.id)" \
	" HAVING count(*) > 0)"

/* Makes the tables of this header, empty: reports need them.  0, or -1 after a message. */
int merge_begin(struct db *db);

/*
 * After merge_begin(): merges the findings.  chosen: the id of a finding that shows those it is one
 * with, 0: none.  0, or -1 after a message.
 */
int merge_findings(struct db *db, int64_t chosen);

#endif
