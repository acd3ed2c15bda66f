/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes over missing fences share: table hazard, which analyzer/hazard/ fills, says it all.
 */
#ifndef CUFENCE_PASS_HAZARDS_H
#define CUFENCE_PASS_HAZARDS_H

#include "map.h"
#include "pass.h"

/*
 * The lines of a pair as a key: of the later call and of the earlier one.  0: one of them is not
 * known; -1 after a message.
 */
int64_t pass_lines(struct findings *findings, int64_t call, int64_t other_call);

/*
 * An instance for each hazard of the rule, but not between lines in the map (NULL: none); least is
 * that of struct instance.
 */
int pass_add_hazards(struct db *db, struct findings *findings, enum rule rule, int64_t least,
	const struct map *except);

/* "kernel 'b' on stream 14 reads what kernel 'a' on stream 13 writes, and nothing orders them" */
int pass_say_hazard(struct words *words, const struct instance *worst, FILE *out);

/* Of an access of the host's: "the host reads what a copy on stream 13 writes, without having
 * waited for it"; "wait for stream 13 after `cudaMemcpyAsync` (x.cu:15), before x.cu:20". */
int pass_say_host_access(struct words *words, const struct instance *worst, FILE *out);
int pass_fix_host_access(struct words *words, const struct instance *worst, FILE *out);

/* Its parts: "kernel 'a' on stream 13"; ": " and what is wrong with the fence that is there. */
int pass_say_operation(struct words *words, const struct instance *worst, int64_t call, FILE *out);
void pass_say_reason(const struct instance *worst, FILE *out);

/* "record an event on stream 13 after `a` (x.cu:31), let stream 14 wait for it before `b`
 * (x.cu:44)", or which edge a graph lacks. */
int pass_fix_hazard(struct words *words, const struct instance *worst, FILE *out);

#endif
