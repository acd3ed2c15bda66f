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

#define IS_LAUNCH(type) IS_OF_FAMILY(type, "launch")
#define IS_GRAPH_LAUNCH(type) IS_OF_FAMILY(type, "graph_launch")

/* As call_is_sync() and the like of trace/calls.h. */
#define IS_SYNC(type) KIND_WHERE(type, "waits = 'by_memory' AND default_stream")
#define IS_SYNC_SET(type) KIND_WHERE(type, "family = 'set' AND default_stream")
#define IS_SYNC_COPY(type) \
	KIND_WHERE(type, "family = 'copy' AND waits = 'by_memory' AND default_stream")
#define IS_ASYNC_COPY(type) \
	KIND_WHERE(type, "family = 'copy' AND waits = 'by_memory' AND NOT default_stream")

#endif
