/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async-alloc-order: "the stream-ordered allocation must happen before the use, and the use before
 * the free, in stream order" (CUDA programming guide, "Stream ordered memory allocator").
 */
#include "mistakes.h"
#include "pass_hazards.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_async_alloc_order, 1, NULL);
}

static int say_free(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" frees memory that ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(" uses, and its thread has not waited for that", out);
	return pass_say_reason(words, worst, out);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (mistake_find(worst->why) == MISTAKE_host_free)
		return say_free(words, worst, out);
	fputs("nothing orders ", out);
	if (pass_say_operation(words, worst, worst->call, out))
		return -1;
	fputs(" after ", out);
	if (pass_say_operation(words, worst, worst->other_call, out))
		return -1;
	fputs(", though both use the same memory", out);
	return pass_say_reason(words, worst, out);
}

const struct pass pass_async_alloc_order = { .run = run, .say = say, .fix = pass_fix_hazard };
