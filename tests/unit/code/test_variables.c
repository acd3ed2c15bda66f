/* SPDX-License-Identifier: Apache-2.0 */
/* Launches name the variables that their kernels use, by image, name and context. */
#include "miniature.h"

#include "variables.h"

enum { IMAGE = 77, NAME = 5, OFFSET = 32768 };

static int setup(void **state)
{
	struct mini *m = malloc(sizeof(*m));

	mini_init(m);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	mini_release(*state);
	free(*state);
	return 0;
}

/* A kernel of that image, which uses a variable of 4 bytes. */
static int64_t kernel(struct mini *m, const char *mangled, int image)
{
	int64_t row = mini_kernel(m, mangled);

	mini_exec(m,
		"INSERT INTO kernel_image VALUES (%lld, %d);"
		"INSERT INTO kernel_variable VALUES (%lld, %d, %d, 'count', 4)",
		(long long)row, image, (long long)row, OFFSET, NAME);
	return row;
}

static int64_t launch(struct mini *m, int64_t row)
{
	int64_t call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = MINI_LEGACY,
		.kernel = row);

	mini_exec(m, "INSERT INTO launch VALUES (%lld, 1)", (long long)call);
	return call;
}

/* The program asks for the variable's address. */
static int64_t ask(struct mini *m, int address)
{
	int64_t call = MINI_CALL(m, .type = CALL_cuModuleGetGlobal_v2, .at = 10);

	mini_exec(m,
		"INSERT INTO allocation VALUES (NULL, 1, %d, 4, 'variable', %lld, NULL);"
		"INSERT INTO variable VALUES (last_insert_rowid(), %d, %d, NULL)",
		address, (long long)call, IMAGE, NAME);
	return call;
}

/* CALL ALLOCATION@ADDRESS, of each launch that names a variable. */
static void check(struct mini *m, const char *expected)
{
	assert_int_equal(variables_resolve(&m->db), 0);
	assert_string_equal(
		mini_text(m,
			"SELECT ifnull(group_concat(call || ' ' || allocation || '@' || address, "
			"', '), '') FROM (SELECT * FROM operand WHERE role = 'word' AND offset = "
			"32768 ORDER BY call)"),
		expected);
}

static void test_a_launch_names_what_was_asked_for(void **state)
{
	struct mini *m = *state;

	ask(m, 4096);
	launch(m, kernel(m, "k", IMAGE));
	check(m, "2 1@4096");
	assert_string_equal(mini_text(m, "SELECT name FROM variable"), "count");
}

static void test_it_is_the_same_before_anybody_asked(void **state)
{
	struct mini *m = *state;

	launch(m, kernel(m, "k", IMAGE));
	ask(m, 4096);
	check(m, "1 1@4096");
}

static void test_kernels_share_a_variable_that_nobody_asked_for(void **state)
{
	struct mini *m = *state;

	launch(m, kernel(m, "k", IMAGE));
	launch(m, kernel(m, "other", IMAGE));
	check(m, "1 1@0, 2 1@0");
	assert_int_equal(mini_int(m, "SELECT bytes FROM allocation"), 4);
}

static void test_images_have_variables_of_their_own(void **state)
{
	struct mini *m = *state;

	ask(m, 4096);
	launch(m, kernel(m, "k", IMAGE));
	launch(m, kernel(m, "k", IMAGE + 1));
	check(m, "2 1@4096, 3 2@0");
}

/* As contexts do: the variable of a library has an address in each. */
static void test_contexts_have_variables_of_their_own(void **state)
{
	struct mini *m = *state;
	int64_t row = kernel(m, "k", IMAGE), second = mini_context(m, 1);

	ask(m, 4096);
	launch(m, row);
	mini_exec(m, "UPDATE call SET context = %lld WHERE id = %lld", (long long)second,
		(long long)launch(m, row));
	check(m, "2 1@4096, 3 2@0");
}

/* Two modules of one image: which variable a kernel's is cannot be said. */
static void test_an_image_that_is_loaded_twice_names_nothing(void **state)
{
	struct mini *m = *state;

	launch(m, kernel(m, "k", IMAGE));
	launch(m, kernel(m, "k", IMAGE));
	check(m, "");
	ask(m, 4096);
	ask(m, 8192);
	launch(m, 1);
	check(m, "");
}

static void test_a_module_that_is_loaded_again_has_another_life(void **state)
{
	struct mini *m = *state;
	int64_t row = kernel(m, "k", IMAGE);

	ask(m, 4096);
	launch(m, row);
	mini_exec(m, "UPDATE allocation SET freed = %lld",
		(long long)MINI_CALL(m, .type = CALL_cuModuleUnload, .at = 20));
	ask(m, 4096);
	launch(m, row);
	check(m, "2 1@4096, 5 2@4096");
}

/* A call that describes a node of a graph, or what a node of an executable is set to. */
static void describe(struct mini *m, int64_t call, int graph, int exec)
{
	if (exec)
		mini_exec(m,
			"INSERT INTO graph_change (call, type, exec) VALUES (%lld, 'kernel', %d)",
			(long long)call, exec);
	else
		mini_exec(m,
			"INSERT INTO graph_node (graph, type, call) VALUES (%d, 'kernel', %lld)",
			graph, (long long)call);
}

enum { CHILD = 1, PARENT, BODY, UPDATED, EXEC = 1 };

static void test_launches_of_a_graph_name_what_its_parts_use(void **state)
{
	static const struct {
		int graph, exec; /* where the launch of the kernel is described */
		const char *named;
	} cases[] = { { PARENT, 0, "1" }, { CHILD, 0, "1" }, { BODY, 0, "1" }, { UPDATED, 0, "1" },
		{ UPDATED + 1, 0, "0" }, { 0, EXEC, "1" }, { 0, EXEC + 1, "0" } };
	struct mini *m = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t call;

		if (i) {
			mini_release(m);
			mini_init(m);
		}
		for (int graph = CHILD; graph <= UPDATED + 1; graph++)
			mini_exec(m, "INSERT INTO graph VALUES (%d, 1, %d, NULL, NULL)", graph,
				graph);
		describe(m, launch(m, kernel(m, "k", IMAGE)), cases[i].graph, cases[i].exec);
		call = MINI_CALL(m, .type = CALL_cuGraphAddChildGraphNode, .at = 20);
		mini_exec(m,
			"INSERT INTO graph_node (id, graph, type, call, child) "
			"VALUES (90, %d, 'graph', %lld, %d), (91, %d, 'conditional', %lld, NULL); "
			"INSERT INTO graph_body (node, graph) VALUES (91, %d)",
			PARENT, (long long)call, CHILD, CHILD, (long long)call, BODY);
		call = MINI_CALL(m, .type = CALL_cuGraphInstantiateWithFlags, .at = 30);
		mini_exec(m,
			"INSERT INTO graph_exec VALUES (%d, 1, 9, %d, %lld, %lld, NULL), "
			"(%d, 1, 10, NULL, NULL, NULL, NULL); "
			"INSERT INTO graph_update VALUES (%lld, %d, %d)",
			EXEC, PARENT, (long long)call, (long long)call, EXEC + 1, (long long)call,
			EXEC, UPDATED);
		call = MINI_CALL(m, .type = CALL_cuGraphLaunch, .at = 40);
		mini_exec(m, "INSERT INTO call_object VALUES (%lld, 'exec', %d)", (long long)call,
			EXEC);
		assert_int_equal(variables_resolve(&m->db), 0);
		assert_string_equal(mini_text(m,
					    "SELECT count(*) FROM operand WHERE role = 'node'"),
			cases[i].named);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_launch_names_what_was_asked_for, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_it_is_the_same_before_anybody_asked, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_kernels_share_a_variable_that_nobody_asked_for,
			setup, teardown),
		cmocka_unit_test_setup_teardown(test_images_have_variables_of_their_own, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_contexts_have_variables_of_their_own, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_an_image_that_is_loaded_twice_names_nothing,
			setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_module_that_is_loaded_again_has_another_life,
			setup, teardown),
		cmocka_unit_test_setup_teardown(test_launches_of_a_graph_name_what_its_parts_use,
			setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
