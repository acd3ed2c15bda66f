/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what NVML said of a GPU's processes. */
#include "unit.h"

#include "watch.h"

enum { SEES_PART, SEES_ALL };

/* The program alone: it was listed and named in each of ten answers. */
static struct watched_gpu alone(void)
{
	struct watched_gpu gpu = { .listed = 12, .own_listed = 1, .answered = 10, .count = 1 };

	gpu.process[0] = (struct watched_process){ .pid = 100,
		.own = 1,
		.listed = 1,
		.named = 10,
		.percent = 600 };
	return gpu;
}

static void add(struct watched_gpu *gpu, struct watched_process process)
{
	process.pid = 200 + gpu->count;
	gpu->process[gpu->count++] = process;
}

static struct watch_verdict judge(const struct watched_gpu *gpu, unsigned own, int sees_all)
{
	struct watch_verdict verdict;

	watch_judge(gpu, own, sees_all, &verdict);
	return verdict;
}

#define ASSERT_VERDICT(gpu, own, sees_all, wanted, count, percent) \
	do { \
		struct watch_verdict verdict_ = judge(gpu, own, sees_all); \
		assert_string_equal(verdict_.seen, wanted); \
		assert_int_equal(verdict_.processes, count); \
		assert_int_equal(verdict_.busy, percent); \
		assert_int_equal(verdict_.why != NULL, !strcmp(wanted, "unknown")); \
	} while (0)

TEST(others_that_compute_are_told_by_their_ids)
{
	struct watched_gpu gpu = alone();

	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "none", 0, 0);
	add(&gpu, (struct watched_process){ .listed = 1 });
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "memory", 1, 0);
	add(&gpu, (struct watched_process){ .listed = 1, .named = 4, .percent = 200 });
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "computing", 1, 20);
	/* One that ended before it was listed. */
	add(&gpu, (struct watched_process){ .named = 3, .percent = 300 });
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "computing", 2, 50);
}

TEST(a_first_answer_proves_nothing)
{
	struct watched_gpu gpu = alone();

	add(&gpu, (struct watched_process){ .listed = 1, .named = 1, .percent = 65 });
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "memory", 1, 0);
}

TEST(a_short_program_tells_little)
{
	struct watched_gpu gpu = alone();

	gpu.answered = 2;
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "none", 0, 0);
	add(&gpu, (struct watched_process){ .listed = 1 });
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "unknown", 1, 0);
	gpu.process[1] = (struct watched_process){ .listed = 1, .named = 2, .percent = 100 };
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "unknown", 1, 0);
	gpu.answered = 3;
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "computing", 1, 33);
}

/* In a container ids of use are not those of the lists: the number of processes tells. */
TEST(in_a_container_processes_are_counted)
{
	struct watched_gpu gpu = alone();

	gpu.process[0].named = 0;
	gpu.process[0].percent = 0;
	ASSERT_VERDICT(&gpu, 1, SEES_PART, "unknown", 0, 0);
	add(&gpu, (struct watched_process){ .named = 9, .percent = 400 });
	ASSERT_VERDICT(&gpu, 1, SEES_PART, "unknown", 0, 0);
	add(&gpu, (struct watched_process){ .named = 9, .percent = 500 });
	ASSERT_VERDICT(&gpu, 1, SEES_PART, "computing", 1, 40);
	ASSERT_VERDICT(&gpu, 2, SEES_PART, "unknown", 0, 0);
	add(&gpu, (struct watched_process){ .named = 1, .percent = 65 });
	ASSERT_VERDICT(&gpu, 2, SEES_PART, "unknown", 0, 0);
}

TEST(what_nvml_does_not_say_is_unknown)
{
	struct watched_gpu gpu = alone();

	gpu.own_listed = 0;
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "unknown", 0, 0);
	gpu = alone();
	gpu.answered = 0;
	gpu.refused = 10;
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "none", 0, 0);
	add(&gpu, (struct watched_process){ .listed = 1 });
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "unknown", 1, 0);
	gpu = alone();
	add(&gpu, (struct watched_process){ .listed = 1, .named = 9, .percent = 500 });
	gpu.mps = 1;
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "unknown", 1, 0);
	gpu.mps = 0;
	gpu.place.mig = 1;
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "unknown", 1, 0);
	gpu = alone();
	gpu.listed = 0;
	ASSERT_VERDICT(&gpu, 1, SEES_ALL, "unknown", 0, 0);
}
