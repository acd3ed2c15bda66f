/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of CUDA's order, a case each: a tiny program, how surely its operations are ordered,
 * and the sentence this rests on.
 *
 * program_text.h says how a program is written.  Expectations are pairs of labels: a<b guaranteed,
 * a~b incidental, a-b assumed, a?b unknown, a|b unordered; LABEL.NODE is a node of the graph that
 * it launched.
 *
 * HW marks cases that a GPU can decide: a guaranteed order is kept, unordered kernels overlap.
 */
#include "program_text.h"

#include "analyze.h"
#include "order.h"
#include "order_path.h"

enum { HW = 1, NO_HW = 0 };

struct order_case {
	const char *name, *program, *expect, *source;
	int hardware;
};

static const struct order_case cases[] = {
#define CASE(name, hardware, program, expect, source) { name, program, expect, source, hardware },
#include "order_cases.def"
#undef CASE
};

struct run {
	struct program p;
	struct {
		int64_t exec;
		struct order_epoch epoch;
	} at[PROGRAM_LABELS];
	const char *expect;
	int checked;
};

/* --- what the engine says --- */

/* The number of a label. */
static int label(const struct run *r, const char *text)
{
	for (int i = 0; i < r->p.label_count; i++)
		if (!strcmp(r->p.label[i].text, text))
			return i;
	print_message("no label '%s'\n", text);
	fail();
	return 0;
}

struct pair {
	char a[8], b[8], a_node[8], b_node[8];
	enum order_strength strength;
};

static void split_node(char *text, char *node)
{
	char *dot = strchr(text, '.');

	*node = '\0';
	if (!dot)
		return;
	snprintf(node, 8, "%s", dot + 1);
	*dot = '\0';
}

/* The next pair of a text; 0 at its end. */
static int next_pair(const char **text, struct pair *pair)
{
	static const char relation[] = "|?-~<";
	char relation_is;
	int length = 0;

	if (sscanf(*text, " %7[a-z0-9.] %c %7[a-z0-9.]%n", pair->a, &relation_is, pair->b,
		    &length) < 3)
		return 0;
	assert_non_null(strchr(relation, relation_is));
	*text += length;
	pair->strength = (enum order_strength)(strchr(relation, relation_is) - relation);
	split_node(pair->a, pair->a_node);
	split_node(pair->b, pair->b_node);
	return 1;
}

static void check_pair(struct run *r, struct order *order, const struct pair *pair)
{
	int a = label(r, pair->a);
	enum order_strength is = order_before_node(order, r->at[a].epoch, r->at[a].exec,
		*pair->a_node ? program_known(&r->p, pair->a_node) : 0,
		*pair->b_node ? program_known(&r->p, pair->b_node) : 0);

	if (is != pair->strength)
		print_message("%s%s%s before %s%s%s: %s, not %s\n", pair->a,
			*pair->a_node ? "." : "", pair->a_node, pair->b, *pair->b_node ? "." : "",
			pair->b_node, order_strength_names[is],
			order_strength_names[pair->strength]);
	assert_int_equal(is, pair->strength);
	r->checked++;
}

struct walker {
	struct run *r;
	struct order order;
};

static int no_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	(void)arg;
	(void)reason;
	return call > 0 && needs > 0 ? 0 : -1;
}

static int visit(void *arg, const struct walk_call *call)
{
	struct walker *w = arg;
	struct run *r = w->r;
	const char *text = r->expect;
	struct pair pair;

	if (order_step(&w->order, call))
		return -1;
	for (int i = 0; i < r->p.label_count; i++) {
		if (r->p.label[i].call != call->id)
			continue;
		r->at[i].epoch = w->order.epoch;
		r->at[i].exec = call->exec;
		while (next_pair(&text, &pair))
			if (!strcmp(pair.b, r->p.label[i].text))
				check_pair(r, &w->order, &pair);
	}
	return 0;
}

/* The stored edges explain what is guaranteed, and nothing that is less. */
static void check_edges(struct run *r)
{
	struct order_path *path;
	const char *text = r->expect;
	struct pair pair;

	assert_int_equal(analyze(&r->p.m.db), 0);
	path = order_path_open(&r->p.m.db);
	assert_non_null(path);
	while (next_pair(&text, &pair)) {
		struct order_link *link = NULL;
		size_t count;
		int found = order_path_find(path, r->p.label[label(r, pair.b)].call,
			r->p.label[label(r, pair.a)].call, ORDER_GUARANTEED, &link, &count);

		free(link);
		if (*pair.a_node || *pair.b_node)
			continue;
		if (found != (pair.strength == ORDER_GUARANTEED))
			print_message("%s and %s: edges say %d\n", pair.a, pair.b, found);
		assert_int_equal(found, pair.strength == ORDER_GUARANTEED);
	}
	order_path_close(path);
}

static int count_pairs(const char *text)
{
	struct pair pair;
	int count = 0;

	while (next_pair(&text, &pair))
		count++;
	return count;
}

static void run_case(void **state)
{
	const struct order_case *c = *state;
	struct run *r = calloc(1, sizeof(*r));
	struct walker w = { .r = r };

	assert_non_null(r);
	program_begin(&r->p);
	r->expect = c->expect;
	program_do(&r->p, "%s", c->program);
	w.order.edge = no_edge;
	w.order.db = &r->p.m.db;
	assert_int_equal(walk(&r->p.m.db, visit, &w), 0);
	order_release(&w.order);
	assert_int_equal(r->checked, count_pairs(c->expect));
	assert_true(r->checked > 0);
	assert_true(c->source ? strlen(c->source) > 20 : c > cases);
	check_edges(r);
	mini_release(&r->p.m);
	free(r);
}

TEST(there_are_enough)
{
	size_t count = sizeof(cases) / sizeof(*cases), hardware = 0;

	for (size_t i = 0; i < count; i++)
		hardware += cases[i].hardware == HW;
	print_message("%zu cases, %zu of them for hardware\n", count, hardware);
	assert_true(count >= 80 && hardware >= 25);
}

UNIT_AT_START(add_cases)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		unit_add(cases[i].name, run_case, NULL, NULL, &cases[i]);
}
