/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order engine against a reference (order_reference.h), on random small programs.
 *
 *	order_random [--count N] [--seed N]      10 000 programs of seed 1 by default
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "order.h"
#include "order_programs.h"
#include "order_reference.h"

struct edges {
	struct {
		int64_t call, needs;
		enum order_reason reason;
	} list[40 * CALLS * CALLS];
	size_t count;
};

static int take_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	struct edges *edges = arg;

	if (edges->count == sizeof(edges->list) / sizeof(*edges->list))
		return -1;
	edges->list[edges->count].call = call;
	edges->list[edges->count].needs = needs;
	edges->list[edges->count++].reason = reason;
	return 0;
}

/*
 * The best way from b to each call by direct edges: one is reached complete ([1]), or up to its
 * start only ([0]), which says nothing of its own operation nor of what only comes "afterwards".
 * Edges come by later call, but for those of pthread_join: it takes effect when it has returned.
 */
static void find_ways(const struct edges *edges, int64_t b, enum order_strength best[][2])
{
	int changed = 1;

	memset(best, 0, (CALLS + 1) * sizeof(*best));
	best[b][0] = ORDER_GUARANTEED;
	while (changed) {
		changed = 0;
		for (size_t i = edges->count; i-- > 0;) {
			enum order_reason reason = edges->list[i].reason;
			int64_t call = edges->list[i].call, needs = edges->list[i].needs;
			enum order_strength from = best[call][1];
			enum order_strength own = order_reason_strength[reason];

			if (reason != ORDER_AFTERWARDS && best[call][0] > from)
				from = best[call][0];
			if (own > from)
				own = from;
			if (own > best[needs][reason != ORDER_START]) {
				best[needs][reason != ORDER_START] = own;
				changed = 1;
			}
		}
	}
}

static void show(const struct program *p, int i)
{
	const struct walk_call *c = &p->call[i];

	fprintf(stderr,
		"%3d thread %d [%d, %d] %s%s stream %d (%s, context %d) event %d,%d "
		"direction %d src %d dst %d exec %d ptr %x op_end %d attributes %u other %d "
		"contexts %d %d\n",
		i, (int)c->thread, (int)c->enter, (int)c->exit, call_kind_names[c->kind],
		c->result ? " failed" : "", (int)c->stream,
		c->stream_kind == STREAM_KIND_LEGACY             ? "legacy"
			: c->stream_kind == STREAM_KIND_BLOCKING ? "blocking"
								 : "other",
		(int)c->context, (int)c->event, (int)c->event2, c->direction, c->src, c->dst,
		(int)c->exec, (unsigned)c->ptr, c->op ? (int)c->op_end : -1, c->attributes,
		(int)c->other_thread, (int)c->dst_context, (int)c->src_context);
}

struct run {
	struct program p;
	struct reference r;
	struct edges edges;
	struct order_epoch epoch[CALLS];
	uint64_t pairs[ORDER_GUARANTEED + 1];
	uint64_t ways, without_way; /* guaranteed pairs that edges explain, or not */
};

static int differ(struct run *run, int a, int b, enum order_strength is, enum order_strength should,
	const char *what)
{
	fprintf(stderr, "%s: call %d before call %d is %s, not %s:\n", what, a, b,
		order_strength_names[is], order_strength_names[should]);
	for (int i = 0; i <= b; i++)
		show(&run->p, i);
	return -1;
}

static int compare(struct run *run, const struct order *order, int b)
{
	enum order_strength best[CALLS + 1][2];

	find_ways(&run->edges, b + 1, best);
	for (int a = 0; a < b; a++) {
		enum order_strength is, should, way = best[a + 1][1];

		if (!run->epoch[a].seq)
			continue;
		is = order_before(order, run->epoch[a]);
		should = by_reference(&run->r, a, b);
		run->pairs[should]++;
		if (is != should)
			return differ(run, a, b, is, should, "engine");
		if (way > should)
			return differ(run, a, b, way, should, "edges");
		run->ways += should == ORDER_GUARANTEED && way == should;
		run->without_way += should == ORDER_GUARANTEED && way != should;
	}
	return 0;
}

static int run_program(struct run *run)
{
	struct order order = { .edge = take_edge, .arg = &run->edges };
	int rc = 0;

	make_program(&run->p);
	refer(&run->r, &run->p);
	run->edges.count = 0;
	for (int i = 0; i < run->p.count && !rc; i++) {
		rc = order_step(&order, &run->p.call[i]);
		run->epoch[i] = works(&run->p.call[i]) ? order.epoch : (struct order_epoch){ 0 };
		if (!rc && works(&run->p.call[i]))
			rc = compare(run, &order, i);
	}
	order_release(&order);
	return rc;
}

static uint64_t count = 10000, seed = 1;

static void programs(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	(void)state;
	assert_non_null(run);
	for (uint64_t i = 0; i < count; i++) {
		random_state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
		if (run_program(run)) {
			fprintf(stderr, "program %llu of seed %llu\n", (unsigned long long)i,
				(unsigned long long)seed);
			free(run);
			fail();
		}
	}
	for (int i = ORDER_UNORDERED; i <= ORDER_GUARANTEED; i++) {
		print_message("%s: %llu pairs\n", order_strength_names[i],
			(unsigned long long)run->pairs[i]);
		/* Programs in which a strength never occurs would say nothing about it. */
		assert_true(count < 1000 || run->pairs[i] > 100);
	}
	print_message("explained by direct edges: %llu guaranteed pairs, not: %llu\n",
		(unsigned long long)run->ways, (unsigned long long)run->without_way);
	free(run);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		{ "the engine and a reference agree on random programs", programs, NULL, NULL,
			NULL },
	};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
