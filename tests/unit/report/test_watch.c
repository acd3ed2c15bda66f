/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "watch.h"

static struct watched_gpu gpu;
static unsigned own;
static int sees_all;

static void take(char *line, FILE *out)
{
	struct watched_process process = { .pid = 199 + gpu.count };
	unsigned number = 0, listed;
	char verb[32], word[32] = "";

	assert_true(sscanf(line, "%31s %31[a-z0-9]", verb, word) == 2);
	number = (unsigned)atoi(word);
	if (!strcmp(verb, "own"))
		assert_int_equal(sscanf(line, "own %u %31[a-z]", &own, word), 2);
	else if (!strcmp(verb, "itself"))
		assert_int_equal(sscanf(line, "itself %u %lf", &gpu.process[0].named,
					 &gpu.process[0].percent),
			2);
	else if (!strcmp(verb, "answered"))
		gpu.answered = number;
	else if (!strcmp(verb, "refused"))
		gpu.refused = number;
	else if (!strcmp(verb, "own_listed"))
		gpu.own_listed = (uint8_t)number;
	else if (!strcmp(verb, "listed"))
		gpu.listed = number;
	else if (!strcmp(verb, "mps"))
		gpu.mps = (int)number;
	else if (!strcmp(verb, "mig"))
		gpu.place.mig = (typeof(gpu.place.mig))number;
	else {
		assert_int_equal(sscanf(line, "other %u %u %lf", &listed, &process.named,
					 &process.percent),
			3);
		process.listed = (uint8_t)listed;
		gpu.process[gpu.count++] = process;
	}
	if (!strcmp(verb, "own"))
		sees_all = !strcmp(word, "all");
}

ANSWER(found)
{
	static char found[64];
	struct watch_verdict verdict;

	gpu = (struct watched_gpu){ .listed = 12, .own_listed = 1, .answered = 10, .count = 1 };
	gpu.process[0] = (struct watched_process){ .pid = 100,
		.own = 1,
		.listed = 1,
		.named = 10,
		.percent = 600 };
	cases_each(take);
	watch_judge(&gpu, own, sees_all, &verdict);
	assert_int_equal(verdict.why != NULL, !strcmp(verdict.seen, "unknown"));
	snprintf(found, sizeof(found), "%s %u %d", verdict.seen, (unsigned)verdict.processes,
		(int)verdict.busy);
	return found;
}
