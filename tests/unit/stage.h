/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFENCE_TESTS_STAGE_H
#define CUFENCE_TESTS_STAGE_H

#include "miniature.h"
#include "run_columns.h"

/* Runs a stage of the analysis on the run in columns. */
static inline int mini_stage(struct mini *m, int (*stage)(struct db *db))
{
	int rc;

	m->db.run = run_open(&m->db);
	assert_non_null(m->db.run);
	rc = stage(&m->db);
	run_close(m->db.run);
	m->db.run = NULL;
	return rc;
}

#endif
