/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL conditions on the kind of a call, from table call_kind (trace/kinds.def). type is the alias
 * of table call_type in the query.
 */
#ifndef CUFENCE_KINDS_H
#define CUFENCE_KINDS_H

#define KIND_WHERE(type, condition) \
	"(" type ".kind IN (SELECT name FROM call_kind WHERE " condition "))"

#define IS_GRAPH_LAUNCH(type) KIND_WHERE(type, "family = 'graph_launch'")

#endif
