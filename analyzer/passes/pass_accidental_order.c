/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accidental-order: a call that may wait, but is not documented to, keeps the two in order in this
 * run (cudaFree "may perform implicit synchronization").
 */
#include "constants.h"
#include "pass_hazards.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_accidental_order, ACCIDENTAL_MIN_COUNT);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_operation(words, worst->call, out))
		return -1;
	fputs(" needs ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(", and only ", out);
	if (words_call(words, worst->via, out) || words_place(words, worst->via, out))
		return -1;
	fputs(", which happened to wait, keeps them in order", out);
	return 0;
}

const struct pass pass_accidental_order = { .run = run, .say = say, .fix = pass_fix_hazard };
