/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async-alloc-order: "the stream-ordered allocation must happen before the use, and the use before
 * the free, in stream order" (CUDA programming guide, "Stream ordered memory allocator").
 */
#include "pass_hazards.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_async_alloc_order, 1);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" uses or frees memory in no order with ", out);
	return words_call(words, worst->other_call, out);
}

const struct pass pass_async_alloc_order = { .run = run, .say = say, .fix = pass_fix_hazard };
