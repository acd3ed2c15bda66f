/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test program: each TEST(name) { ... } of the file is run, in order; TEST_WITH() one between a
 * function before it and another after it, TEST_OF() one of the object that was set up; GROUP() is
 * for all of them.
 */
#ifndef CUFENCE_TESTS_UNIT_H
#define CUFENCE_TESTS_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { UNIT_MOST = 200 };

static struct CMUnitTest unit_tests[UNIT_MOST];
static size_t unit_count;
static CMFixtureFunction unit_begin, unit_end;

static inline void unit_add(const char *name, CMUnitTestFunction run, CMFixtureFunction before,
	CMFixtureFunction after, const void *state)
{
	if (unit_count == UNIT_MOST)
		abort();
	unit_tests[unit_count++] =
		(struct CMUnitTest){ name, run, before, after, (void *)(uintptr_t)state };
}

#define UNIT_AT_START(name) static __attribute__((constructor)) void name(void)

#define TEST_WITH(name, before, after) \
	static void name(void **state); \
	UNIT_AT_START(add_##name) \
	{ \
		unit_add(#name, name, before, after, NULL); \
	} \
	static void name(void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* What the function before it left in *state is its object. */
#define TEST_OF(name, type, object, before, after) \
	static void name##_of(type *object); \
	TEST_WITH(name, before, after) \
	{ \
		name##_of(*state); \
	} \
	static void name##_of(type *object)

#define GROUP(before, after) \
	UNIT_AT_START(set_group) \
	{ \
		unit_begin = before; \
		unit_end = after; \
	}

int main(void)
{
	return _cmocka_run_group_tests(program_invocation_short_name, unit_tests, unit_count,
		unit_begin, unit_end);
}

#endif
