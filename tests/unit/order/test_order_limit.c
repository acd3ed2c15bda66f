/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order whose clocks reach their limit is given up: from there on nothing is claimed, and the
 * database says so.
 */
#include "program_text.h"

#include "losses.h"
#include "order_reaches.h"

enum { CHAIN = 60, CALLS = 4 * CHAIN - 1 };

/* Each stream waits for the one before it: what each knows grows with their number. */
static int chain(void **state)
{
	struct program *p = *state = calloc(1, sizeof(*p));

	program_begin(p);
	for (int i = 0; i < CHAIN; i++) {
		program_do(p, "event_create e%d", i);
		if (i)
			program_do(p, "wait e%d n%d", i - 1, i);
		program_do(p, "launch n%d; record e%d n%d", i, i, i);
	}
	return 0;
}

/* A program begins with its miniature. */
#define CHAIN_TEST(name) TEST_OF(name, struct mini, m, chain, mini_teardown)

struct asked {
	struct order order;
	struct order_epoch first;
	int guaranteed, unknown, other;
	int threads_unknown;
};

static int no_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	const struct asked *asked = arg;

	(void)needs, (void)reason;
	/* The call at which it was given up may have added some before. */
	return asked->order.given_up && call > asked->order.given_up ? -1 : 0;
}

/* Whether the first launch is before each later one. */
static int ask(void *arg, const struct walk_call *call)
{
	struct asked *asked = arg;
	enum order_strength is;

	if (order_step(&asked->order, call))
		return -1;
	if (call->kind != KIND_LAUNCH)
		return 0;
	if (!asked->first.seq) {
		asked->first = asked->order.epoch;
		return 0;
	}
	is = order_before(&asked->order, asked->first);
	asked->guaranteed += is == ORDER_GUARANTEED;
	asked->unknown += is == ORDER_UNKNOWN;
	asked->other += is != ORDER_GUARANTEED && is != ORDER_UNKNOWN;
	asked->threads_unknown +=
		order_known(&asked->order, call->thread, asked->first) == ORDER_UNKNOWN;
	return 0;
}

static struct asked ask_all(struct mini *m, size_t limit, uint64_t work)
{
	struct asked asked = { .order = { .edge = no_edge, .db = &m->db } };

	m->db.order_limit = limit;
	asked.order.arg = &asked;
	asked.order.joiner.work = work;
	assert_int_equal(walk(&m->db, ask, &asked), 0);
	order_release(&asked.order);
	return asked;
}

CHAIN_TEST(beyond_the_limit_order_is_unknown)
{
	struct asked asked;

	asked = ask_all(m, 0, 0);
	assert_int_equal(asked.order.given_up, 0);
	assert_int_equal(asked.guaranteed, CHAIN - 1);
	asked = ask_all(m, 16384, 0);
	assert_in_range(asked.order.given_up, 40, CALLS - 40);
	assert_in_range(asked.guaranteed, 10, CHAIN - 11);
	assert_int_equal(asked.unknown, CHAIN - 1 - asked.guaranteed);
	assert_int_equal(asked.other, 0);
	/* The next launch is asked of at the call itself or after it. */
	assert_int_equal(asked.threads_unknown, asked.unknown);
}

CHAIN_TEST(too_much_work_is_given_up_as_well)
{
	struct asked asked;

	asked = ask_all(m, 0, ORDER_WORK_LIMIT - 200);
	assert_true(asked.order.given_up > 0);
	assert_true(asked.guaranteed > 0 && asked.unknown > 0);
	assert_int_equal(asked.other, 0);
}

CHAIN_TEST(the_database_says_how_far_it_went)
{
	int64_t count;

	m->db.order_limit = 16384;
	assert_int_equal(analyze(&m->db), 0);
	count = mini_int(m, "SELECT count FROM loss WHERE reason = 'order_given_up'");
	assert_in_range(count, 40, CALLS - 40);
	assert_true(mini_int(m, "SELECT max(call) FROM dependency") >= count - 4);
	assert_true(mini_int(m, "SELECT max(call) FROM dependency") <= count + 1);
	assert_int_equal(losses_effect(&m->db), LOSS_OPERATIONS);
	assert_non_null(strstr(loss_find("order_given_up")->text, "first %lld calls only"));
	/* Analyzed again with room for all, nothing is lost. */
	m->db.order_limit = 0;
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(losses_effect(&m->db), LOSS_NOTE);
	assert_int_equal(mini_int(m, "SELECT max(call) FROM dependency"), CALLS - 1);
}

static void step_of(struct order *order, int64_t thread, enum call_kind kind, int64_t id,
	int64_t stream, enum stream_kind stream_kind)
{
	struct walk_call call = { .id = id,
		.process = 1,
		.thread = thread,
		.context = 1,
		.enter = id * 1000,
		.exit = id * 1000 + 500,
		.op_start = WALK_NEVER,
		.op_end = WALK_NEVER,
		.ran = WALK_NEVER,
		.ran_last = WALK_NEVER,
		.owner_device = -1,
		.direction = COPY_DEFAULT,
		.kind = kind,
		.stream = stream,
		.stream_context = 1,
		.stream_kind = stream_kind };

	assert_int_equal(order_step(order, &call), 0);
}

static void step_in(struct order *order, enum call_kind kind, int64_t id, int64_t stream,
	enum stream_kind stream_kind)
{
	step_of(order, 1, kind, id, stream, stream_kind);
}

static void step(struct order *order, enum call_kind kind, int64_t id, int64_t stream)
{
	step_in(order, kind, id, stream, STREAM_KIND_BLOCKING);
}

/* Streams that come and go cost nothing once they are gone. */
TEST(streams_in_turn_keep_memory_flat)
{
	struct order order = { 0 };
	size_t most_bytes = 0, most_keys = 0;
	int64_t id = 0;

	for (int i = 0; i < 20000; i++) {
		step(&order, KIND_LAUNCH, ++id, 2 + i);
		step(&order, KIND_STREAM_SYNC, ++id, 2 + i);
		step(&order, KIND_STREAM_DESTROY, ++id, 2 + i);
		if (order.joiner.bytes > most_bytes)
			most_bytes = order.joiner.bytes;
		if (order.keys.count > most_keys)
			most_keys = order.keys.count;
	}
	assert_int_equal(order.given_up, 0);
	assert_true(most_bytes < 1 << 20);
	assert_true(most_keys < 4096);
	order_release(&order);
}

/*
 * The work that legacy work is after is one entry of its clock, however many blocking streams there
 * are, in turn with the legacy stream: four times as many streams are four times the work.
 */
static uint64_t legacy_work(int64_t streams)
{
	struct order order = { 0 };
	int64_t id = 0;
	uint64_t work;

	for (int64_t i = 0; i < streams; i++)
		step(&order, KIND_LAUNCH, ++id, 2 + i);
	for (int64_t i = 0; i < streams; i++) {
		step_in(&order, KIND_LAUNCH, ++id, 1, STREAM_KIND_LEGACY);
		step(&order, KIND_LAUNCH, ++id, 2 + i);
	}
	assert_int_equal(order.given_up, 0);
	assert_true(order.joiner.bytes < 1 << 20);
	work = order.joiner.work;
	order_release(&order);
	return work;
}

TEST(legacy_work_after_10000_streams_is_one_entry)
{
	assert_true(legacy_work(10000) < 5 * legacy_work(2500));
}

/*
 * Each of 4000 threads in turn knows by host time what the others waited for.  A thread has one of
 * 16 streams; these know the threads that submit to them one by one.
 */
TEST(what_threads_were_told_is_one_entry)
{
	struct order order = { 0 };
	int64_t threads = 4001, id = 0;

	for (int64_t i = 0; i < 40 * threads; i++)
		step_of(&order, 1 + i % threads, i % 5 ? KIND_LAUNCH : KIND_STREAM_SYNC, ++id,
			1 + i % threads % 16, STREAM_KIND_NON_BLOCKING);
	assert_int_equal(order.given_up, 0);
	assert_true(order.joiner.work < 100000000);
	order_release(&order);
}

/* Entries that nobody can ask for by what was reported to it are forgotten; the rest is not. */
TEST(what_threads_were_told_keeps_memory_flat)
{
	struct db limited = { .order_limit = 1 << 18 };
	struct order order = { .db = &limited };
	enum stream_kind kind = STREAM_KIND_NON_BLOCKING;
	struct order_epoch waited_for, running;
	int64_t id = 0;

	step_of(&order, 2, KIND_LAUNCH, ++id, 9, kind);
	running = order.epoch;
	for (int i = 0; i < 100000; i++) {
		step_of(&order, 1, KIND_LAUNCH, ++id, 1 + i % 3, kind);
		waited_for = order.epoch;
		step_of(&order, 1, KIND_STREAM_SYNC, ++id, 1 + i % 3, kind);
		if (i % 1000)
			continue;
		step_of(&order, 2, KIND_LAUNCH, ++id, 5, kind);
		assert_int_equal(order_before(&order, waited_for), ORDER_ASSUMED);
		assert_int_equal(order_known(&order, 2, waited_for), ORDER_ASSUMED);
		assert_int_equal(order_before(&order, running), ORDER_UNORDERED);
	}
	assert_int_equal(order.given_up, 0);
	assert_true(order.joiner.bytes < 1 << 18);
	order_release(&order);
}

/* Each operation is asked for the last ones before it, of streams that sync, come and go. */
TEST(kept_answers_are_those_of_the_order)
{
	enum { ASKED = 64, STREAMS = 12 };
	enum stream_kind kind = STREAM_KIND_NON_BLOCKING;
	struct order order = { 0 };
	struct order_reaches reaches = { 0 };
	struct order_epoch before[ASKED] = { 0 };
	int64_t id = 0, made = 0;
	int sure = 0;

	for (int i = 0; i < 5000; i++) {
		int64_t stream = made + 1 + i * 5 % STREAMS, thread = 1 + i % 3;

		step_of(&order, thread, KIND_LAUNCH, ++id, stream, kind);
		order_reaches_begin(&reaches);
		for (int k = 0; k < ASKED; k++) {
			int is = order_before(&order, before[k]) == ORDER_GUARANTEED;

			assert_int_equal(order_reaches(&reaches, &order, &before[k]), is);
			sure += is;
		}
		before[i % ASKED] = order.epoch;
		if (i % 7 == 0)
			step_of(&order, thread, KIND_STREAM_SYNC, ++id, stream, kind);
		if (i % 50 == 49)
			step_of(&order, thread, KIND_STREAM_DESTROY, ++id, ++made, kind);
	}
	assert_in_range(sure, 5000 * ASKED / 10, 5000 * ASKED * 9 / 10);
	order_release(&order);
}
