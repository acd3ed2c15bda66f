/* SPDX-License-Identifier: Apache-2.0 */
/* SQL for streams as texts name them. */
#ifndef CUFENCE_STREAM_SQL_H
#define CUFENCE_STREAM_SQL_H

/*
 * Stream s, where it is no default stream: "stream 'copy'" by the program's own name (NVTX), else
 * "stream 14" by CUPTI's number; both, "stream 14 'copy'", if several of the process have the name.
 */
#define STREAM_LABEL(s) \
	"'stream ' || CASE WHEN " s ".name IS NULL THEN coalesce(" s ".cupti_id, " s \
	".id)" \
	" ELSE iif(EXISTS (SELECT 1 FROM stream alike WHERE alike.process = " s \
	".process" \
	" AND alike.name = " s ".name AND alike.id <> " s ".id), coalesce(" s ".cupti_id, " s \
	".id) || ' ', '') || '''' || " s ".name || '''' END"

/* Stream s in a sentence. */
#define STREAM_WORDS(s) \
	"CASE " s \
	".kind WHEN 'legacy' THEN 'the legacy default stream'" \
	" WHEN 'per-thread' THEN 'the per-thread default stream' ELSE " STREAM_LABEL(s) " END"

#endif
