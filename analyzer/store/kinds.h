/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of SQL on the kind of a call: what table call_kind says of it (trace/kinds.def).
 * type is the alias of table call_type in the query.
 */
#ifndef CUFENCE_KINDS_H
#define CUFENCE_KINDS_H

#define KIND_WHERE(type, condition) \
	"(" type ".kind IN (SELECT name FROM call_kind WHERE " condition "))"
#define IS_OF_FAMILY(type, family) KIND_WHERE(type, "family = '" family "'")

/* Made in order to wait. */
#define IS_EXPLICIT_WAIT(type) IS_OF_FAMILY(type, "wait")

#endif
