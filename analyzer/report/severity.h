/* SPDX-License-Identifier: Apache-2.0 */
/* The severities of findings, the highest first; rules.h says which one a finding gets. */
#ifndef CUFENCE_SEVERITY_H
#define CUFENCE_SEVERITY_H

/* X(name, rank, GitHub's kind of annotation, SARIF's level, color in a terminal) */
#define SEVERITIES(X) \
	X(high, 3, "error", "error", "\033[31m") \
	X(medium, 2, "warning", "warning", "\033[33m") \
	X(low, 1, "notice", "note", "")

/* SQL, of a column with a severity. */
#define SEVERITY_WHEN_RANK(name, rank, annotation, level, color) " WHEN '" #name "' THEN " #rank
#define SEVERITY_WHEN_ANNOTATION(name, rank, annotation, level, color) \
	" WHEN '" #name "' THEN '" annotation "'"
#define SEVERITY_WHEN_LEVEL(name, rank, annotation, level, color) \
	" WHEN '" #name "' THEN '" level "'"
#define SEVERITY_RANK(column) "CASE " column SEVERITIES(SEVERITY_WHEN_RANK) " ELSE 1 END"
#define SEVERITY_ANNOTATION(column) "CASE " column SEVERITIES(SEVERITY_WHEN_ANNOTATION) " END"
#define SEVERITY_LEVEL(column) "CASE " column SEVERITIES(SEVERITY_WHEN_LEVEL) " END"

#endif
