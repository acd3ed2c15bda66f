/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by passes over missing fences, which report rows of table hazard (analyzer/hazard/). */
#ifndef CUFENCE_PASS_HAZARDS_H
#define CUFENCE_PASS_HAZARDS_H

#include "map.h"
#include "pass.h"

/*
 * Returns a key for the lines of the later and the earlier call.  0: one is unknown; -1 after a
 * message.
 */
int64_t pass_lines(struct findings *findings, int64_t call, int64_t other_call);

/*
 * Adds an instance for each hazard of the rule, except between lines in the map (NULL: none).
 * least: as in struct instance.  Returns 0, or -1 after a message.
 */
int pass_add_hazards(struct db *db, struct findings *findings, enum rule rule, int64_t least,
	const struct map *except);

/*
 * Writes "kernel 'b' on stream 14 reads what kernel 'a' on stream 13 writes, and nothing orders
 * them".
 */
int pass_say_hazard(struct words *words, const struct instance *worst, FILE *out);

/*
 * For an access of the host: "the host reads what a copy on stream 13 writes, without having waited
 * for it"; "wait for stream 13 after `cudaMemcpyAsync` (x.cu:15), before x.cu:20".
 */
int pass_say_host_access(struct words *words, const struct instance *worst, FILE *out);
int pass_fix_host_access(struct words *words, const struct instance *worst, FILE *out);

/*
 * Write parts of these: "kernel 'a' on stream 13"; ": " and why the existing fence has no effect.
 */
int pass_say_operation(struct words *words, const struct instance *worst, int64_t call, FILE *out);
int pass_say_reason(struct words *words, const struct instance *worst, FILE *out);

/*
 * Writes "record an event on stream 13 after `a` (x.cu:31), let stream 14 wait for it before `b`
 * (x.cu:44)", or which edge a graph lacks.
 */
int pass_fix_hazard(struct words *words, const struct instance *worst, FILE *out);

#endif
