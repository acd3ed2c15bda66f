/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "lives.h"

static struct lives lives;
static struct ranges ranges;
static uint32_t life[128]; /* by the letter of its name */
static int retired;

static int count_retired(void *arg, const struct life *one)
{
	retired++;
	return 0;
}

/* The letter of a life, - without one. */
static char name_of(uint32_t number)
{
	for (char c = 'a'; number && c <= 'z'; c++)
		if (life[(int)c] == number)
			return c;
	return '-';
}

static void take_life(const char *verb, char name, const uint64_t n[4], FILE *out)
{
	uint32_t *one = &life[(int)name];

	if (!strcmp(verb, "begin"))
		*one = lives_begin(&lives, n[1], n[2], (int64_t)n[3]);
	else if (!strcmp(verb, "end"))
		lives_end(&lives, *one, n[1], (int64_t)n[2]);
	else if (!strcmp(verb, "find"))
		fprintf(out, " %c", name_of(lives_find(&lives, n[0], n[1])));
	else if (!strcmp(verb, "destroyed"))
		fprintf(out, " %d", (int)lives.life[*one - 1].destroyed);
	else if (!strcmp(verb, "retire"))
		fprintf(out, " %d", lives_retire(&lives, n[0]) ? -1 : retired);
	else
		fail_msg("no verb '%s'", verb);
}

static void take(char *line, FILE *out)
{
	char verb[16], word[4][16] = { "", "", "", "" };
	uint64_t n[4];

	assert_true(sscanf(line, "%15s %15s %15s %15s %15s", verb, word[0], word[1], word[2],
			    word[3]) > 1);
	for (int i = 0; i < 4; i++)
		n[i] = isdigit((unsigned char)*word[i])
			? (uint64_t)program_time(word[i], word[i] + strlen(word[i]))
			: 0;
	if (!strcmp(verb, "add") || !strcmp(verb, "plan"))
		ranges_add(&ranges, n[0], n[1], *verb == 'a' ? 0 : n[2],
			(uint32_t)n[*verb == 'a' ? 2 : 3]);
	else if (!strcmp(verb, "remove"))
		ranges_remove(&ranges, n[0], (uint32_t)n[1]);
	else if (!strcmp(verb, "at"))
		fprintf(out, " %u", ranges_find(&ranges, n[0]));
	else if (strcmp(verb, "reach"))
		take_life(verb, *word[0], n, out);
	if (!strcmp(verb, "add") || !strcmp(verb, "reach"))
		ranges_reach(&ranges, *verb == 'a' ? 0 : n[0]);
}

ANSWER(found)
{
	const char *found;

	lives = (struct lives){ .retire = count_retired };
	ranges = (struct ranges){ 0 };
	retired = 0;
	memset(life, 0, sizeof(life));
	found = cases_each(take);
	lives_release(&lives);
	ranges_release(&ranges);
	return found;
}

/* Whether something is allocated again where it was, over several places, or nowhere. */
TEST(what_was_removed_is_not_found)
{
	ranges = (struct ranges){ 0 };
	for (uint32_t i = 0; i < 100; i++)
		ranges_add(&ranges, i * 100, 50, 0, 1 + i);
	ranges_reach(&ranges, 1);
	for (uint32_t i = 0; i < 40; i++)
		ranges_remove(&ranges, i * 100, 1 + i);
	assert_int_equal(ranges_find(&ranges, 110), 0);
	assert_int_equal(ranges_find(&ranges, 4010), 41);
	ranges_add(&ranges, 100, 50, 1, 201);
	ranges_add(&ranges, 1010, 500, 1, 202);
	ranges_reach(&ranges, 1);
	for (uint32_t i = 40; i < 90; i++)
		ranges_remove(&ranges, i * 100, 1 + i);
	assert_int_equal(ranges_find(&ranges, 110), 201);
	assert_int_equal(ranges_find(&ranges, 1005), 0);
	assert_int_equal(ranges_find(&ranges, 1200), 202);
	assert_int_equal(ranges_find(&ranges, 1520), 0);
	for (uint32_t i = 16; i < 90; i++)
		assert_int_equal(ranges_find(&ranges, i * 100 + 10), 0);
	for (uint32_t i = 90; i < 100; i++)
		assert_int_equal(ranges_find(&ranges, i * 100 + 10), 1 + i);
	assert_true(ranges.count < 30);
	ranges_release(&ranges);
}
