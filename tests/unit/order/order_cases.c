/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of CUDA's order, a case each: a tiny program, how surely its operations are ordered,
 * and the sentence this rests on.
 *
 * A program is a list of statements, one every 10 microseconds:
 *
 *	[LABEL:] [@THREAD] [!]VERB [NAME...] [+US] [=US]
 *
 * ! marks a call that failed, + how long it takes (2), = how long its operation runs after the
 * entry of the call (else no operation was seen).  Streams: L legacy, b1 blocking, n1
 * non-blocking, p1 per-thread; with ' of the second device's context, with '' of the third's.
 * Events: e1, and f1, whose creation was not recorded.  Expectations are pairs of labels: a<b
 * guaranteed, a~b incidental, a-b assumed, a?b unknown, a|b unordered; LABEL.NODE is a node of the
 * graph that it launched.
 *
 * HW marks cases that a GPU can decide: a guaranteed order is kept, unordered kernels overlap.
 */
#include "miniature.h"

#include <ctype.h>

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

/* --- a program as rows --- */

enum { NAMES = 64, LABELS = 32 };

struct name {
	char text[12];
	int64_t id;
};

struct run {
	struct mini m;
	struct name names[NAMES];
	int name_count;
	double now;
	int64_t context[3];
	int64_t threads[8], execs;
	struct label {
		char text[8];
		int64_t call, exec;
		struct order_epoch epoch;
	} label[LABELS];
	int label_count;
	const char *expect;
	int checked;
};

struct statement {
	char label[8], verb[24], arg[6][16];
	int args;
	struct mini_call call;
};

static int64_t known(struct run *r, const char *text)
{
	for (int i = 0; i < r->name_count; i++)
		if (!strcmp(r->names[i].text, text))
			return r->names[i].id;
	return 0;
}

static int64_t name_it(struct run *r, const char *text, int64_t id)
{
	for (int i = 0; i < r->name_count; i++) {
		if (!strcmp(r->names[i].text, text)) {
			r->names[i].id = id;
			return id;
		}
	}
	assert_true(r->name_count < NAMES);
	snprintf(r->names[r->name_count].text, sizeof(r->names->text), "%s", text);
	r->names[r->name_count++].id = id;
	return id;
}

/* The second device's with ', the third's with ''. */
static int64_t context_of(const struct run *r, const char *text)
{
	const char *primes = strchr(text, '\'');

	return r->context[primes ? strlen(primes) : 0];
}

static int64_t stream(struct run *r, const char *text)
{
	static const char *const kinds[] = { ['L'] = "legacy",
		['b'] = "blocking",
		['n'] = "non-blocking",
		['p'] = "per-thread" };
	int64_t id = known(r, text);

	if (!strcmp(text, "L"))
		return MINI_LEGACY;
	return id ? id
		  : name_it(r, text,
			    mini_stream_in(&r->m, context_of(r, text),
				    kinds[(unsigned char)text[0]]));
}

static int64_t event(struct run *r, const char *text)
{
	int64_t id = known(r, text);

	if (id)
		return id;
	id = name_it(r, text, mini_event(&r->m));
	if (text[0] == 'e')
		MINI_CALL(&r->m, .type = CALL_cuEventCreate, .at = r->now - 5, .event = id);
	return id;
}

static int64_t thread(struct run *r, int number)
{
	if (!r->threads[number])
		r->threads[number] = number == 1 ? MINI_MAIN : mini_thread(&r->m);
	return r->threads[number];
}

static void object(struct run *r, const char *role, int64_t id)
{
	mini_exec(&r->m, "INSERT INTO call_object VALUES (%lld, '%s', %lld)", (long long)r->m.calls,
		role, (long long)id);
}

static int64_t exec(struct run *r, const char *text)
{
	int64_t id = known(r, text);

	if (id)
		return id;
	id = name_it(r, text, ++r->execs);
	mini_exec(&r->m, "INSERT INTO graph (id, process, handle) VALUES (%lld, 1, %lld)",
		(long long)id, (long long)id);
	mini_exec(&r->m,
		"INSERT INTO graph_exec (id, process, handle, graph, as_of) "
		"VALUES (%lld, 1, %lld, %lld, 1 << 40)",
		(long long)id, (long long)id, (long long)id);
	return id;
}

/* node x1 NAME TYPE [EVENT] [after NAME] */
static void add_node(struct run *r, const struct statement *s)
{
	int64_t graph = exec(r, s->arg[0]), after = 0, acts_on = 0, node;

	for (int i = 3; i < s->args; i++) {
		if (!strcmp(s->arg[i], "after"))
			after = known(r, s->arg[i + 1]);
		else if (s->arg[i][0] == 'e')
			acts_on = event(r, s->arg[i]);
	}
	mini_exec(&r->m,
		"INSERT INTO graph_node (graph, type, call, event) VALUES (%lld, '%s', "
		"1, nullif(%lld, 0))",
		(long long)graph, s->arg[2], (long long)acts_on);
	node = name_it(r, s->arg[1], sqlite3_last_insert_rowid(r->m.db.handle));
	if (after)
		mini_exec(&r->m, "INSERT INTO graph_edge VALUES (%lld, %lld, %lld, 1, NULL, 0)",
			(long long)graph, (long long)after, (long long)node);
}

/* Verbs of which a name is a stream, the first unless said otherwise. */
static const struct verb {
	const char *name;
	int type;
	const char *args; /* s stream, e event, E second event, x graph, c context,
					d and f: contexts of a peer copy, t thread, n a node */
	const char *more; /* a row of call_object: role=number; green: of its
					context */
} verbs[] = {
	{ "launch", CALL_cuLaunchKernel, "s", NULL },
	{ "pdl", CALL_cuLaunchKernelEx, "s", "attributes=2" },
	{ "launch_event", CALL_cuLaunchKernelEx, "se", "attributes=4" },
	{ "set", CALL_cuMemsetD8_v2, "s", NULL },
	{ "set_async", CALL_cuMemsetD8Async, "s", NULL },
	{ "copy", CALL_cuMemcpy, "s", NULL },
	{ "copy_async", CALL_cuMemcpyAsync, "s", NULL },
	{ "copy_peers", CALL_cuMemcpyAsync, "sdf", NULL },
	{ "copy_batch", CALL_cuMemcpyBatchAsync, "s", NULL },
	{ "peer", CALL_cuMemcpyPeer, "sdf", NULL },
	{ "peer_async", CALL_cuMemcpyPeerAsync, "s", NULL },
	{ "host_func", CALL_cuLaunchHostFunc, "s", NULL },
	{ "callback", CALL_cuStreamAddCallback, "s", NULL },
	{ "prefetch", CALL_cuMemPrefetchAsync_v2, "s", NULL },
	{ "advise", CALL_cuMemAdvise_v2, "", NULL },
	{ "attach", CALL_cuStreamAttachMemAsync, "s", NULL },
	{ "alloc_async", CALL_cuMemAllocAsync, "s", NULL },
	{ "free_async", CALL_cuMemFreeAsync, "s", NULL },
	{ "wait_value", CALL_cuStreamWaitValue32_v2, "s", NULL },
	{ "write_value", CALL_cuStreamWriteValue32_v2, "s", NULL },
	{ "memop", CALL_cuStreamBatchMemOp_v2, "s", NULL },
	{ "signal", CALL_cuSignalExternalSemaphoresAsync, "s", NULL },
	{ "wait_semaphore", CALL_cuWaitExternalSemaphoresAsync, "s", NULL },
	{ "graph", CALL_cuGraphLaunch, "xs", NULL },
	{ "upload", CALL_cuGraphUpload, "xs", NULL },
	{ "host_graph", CALL_cuGraphLaunch, "xs", "content=2" },
	{ "exec_update", CALL_cuGraphExecUpdate_v2, "x", NULL },
	{ "exec_event", CALL_cuGraphExecEventRecordNodeSetEvent, "xne", NULL },
	{ "node_event", CALL_cuGraphEventRecordNodeSetEvent, "xne", NULL },
	{ "captured", CALL_cuLaunchKernel, "s", "captured=1" },
	{ "captured_record", CALL_cuEventRecord, "es", "captured=1" },
	{ "captured_wait", CALL_cuStreamWaitEvent, "es", "captured=1" },
	{ "record", CALL_cuEventRecord, "es", NULL },
	{ "wait", CALL_cuStreamWaitEvent, "es", NULL },
	{ "sync", CALL_cuStreamSynchronize, "s", NULL },
	{ "query", CALL_cuStreamQuery, "s", NULL },
	{ "event_sync", CALL_cuEventSynchronize, "e", NULL },
	{ "event_query", CALL_cuEventQuery, "e", NULL },
	{ "elapsed", CALL_cuEventElapsedTime, "Ee", NULL },
	{ "device_sync", CALL_cuCtxSynchronize, "c", NULL },
	{ "context_record", CALL_cuCtxRecordEvent, "ec", NULL },
	{ "context_wait", CALL_cuCtxWaitEvent, "ec", NULL },
	{ "green_sync", CALL_cuCtxSynchronize, "c", "green" },
	{ "green_record", CALL_cuGreenCtxRecordEvent, "ec", "green" },
	{ "green_wait", CALL_cuGreenCtxWaitEvent, "ec", "green" },
	{ "stream_destroy", CALL_cuStreamDestroy_v2, "s", NULL },
	{ "event_destroy", CALL_cuEventDestroy_v2, "e", NULL },
	{ "ipc_event", CALL_cuIpcOpenEventHandle, "e", NULL },
	{ "ipc_export", CALL_cuIpcGetEventHandle, "e", NULL },
	{ "context_destroy", CALL_cuCtxDestroy_v2, "c", NULL },
	{ "free", CALL_cuMemFree_v2, "", NULL },
	{ "free_of", CALL_cuMemFree_v2, "", NULL },
	{ "free_host", CALL_cuMemFreeHost, "", NULL },
	{ "unregister", CALL_cuMemHostUnregister, "", NULL },
	{ "module_load", CALL_cuModuleLoadData, "", NULL },
	{ "first_load", CALL_cuLibraryLoadData, "", "by /lib/libcudart.so.13" },
	{ "pool_query", CALL_cuEventQuery, "e", "by /lib/libc10_cuda.so" },
	{ "limit", CALL_cuCtxSetLimit, "", NULL },
	{ "create", CALL_pthread_create, "t", NULL },
	{ "join", CALL_pthread_join, "t", NULL },
	{ "malloc", CALL_cuMemAlloc_v2, "", NULL },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	print_message("no verb '%s'\n", name);
	fail();
	return NULL;
}

static void take_words(struct statement *s, char *text)
{
	char *word, *rest = NULL;

	for (word = strtok_r(text, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
		size_t length = strlen(word);

		if (!*s->verb && word[length - 1] == ':')
			snprintf(s->label, sizeof(s->label), "%.*s", (int)length - 1, word);
		else if (*word == '@')
			s->call.thread = atoi(word + 1);
		else if (*word == '+')
			s->call.until = atof(word + 1);
		else if (*word == '=')
			s->call.runs[1] = atof(word + 1);
		else if (!*s->verb) {
			s->call.result = *word == '!' ? 1 : 0;
			snprintf(s->verb, sizeof(s->verb), "%s", word + (*word == '!'));
		} else {
			assert_true(s->args < 6);
			snprintf(s->arg[s->args++], sizeof(s->arg[0]), "%s", word);
		}
	}
}

/* Memory kinds and directions follow the names that a verb asks for. */
static void take_memory(struct run *r, struct statement *s, int from)
{
	static const char *const directions[] = { "h2h", "h2d", "d2h", "d2d" };
	static const char *const memory[] = { "pageable", "pinned", "device", "managed" };

	for (int i = from; i < s->args; i++) {
		for (int d = 0; d < 4; d++)
			if (!strcmp(s->arg[i], directions[d]))
				s->call.direction = d + 1;
		for (int k = 0; k < 4; k++)
			if (!strcmp(s->arg[i], memory[k])) {
				if (s->call.direction == 1 + COPY_D2H || !s->call.direction)
					s->call.dst = memory[k];
				else
					s->call.src = memory[k];
			}
		if (s->arg[i][0] == 'm' && isdigit((unsigned char)s->arg[i][1]))
			s->call.ptr = 0x1000 * atoi(s->arg[i] + 1);
		(void)r;
	}
}

/* Two functions of that file are the innermost on the stack of the last call. */
static void made_by(struct run *r, const char *file)
{
	int64_t site = mini_site(&r->m, "main", 1);

	mini_exec(&r->m, "INSERT INTO module VALUES (%lld, 1, 0, 10, 0, '%s', NULL)",
		(long long)site, file);
	mini_exec(&r->m,
		"INSERT INTO frame (site, depth, address, module, user) VALUES "
		"(%lld, 0, 1, %lld, 0), (%lld, 1, 2, %lld, 0)",
		(long long)site, (long long)site, (long long)site, (long long)site);
	mini_exec(&r->m, "UPDATE call SET site = %lld WHERE id = %lld", (long long)site,
		(long long)r->m.calls);
}

static void finish_call(struct run *r, const struct verb *verb, const struct statement *s)
{
	const char *more = verb->more;
	int64_t thread_id;

	for (int i = 0; verb->args[i]; i++) {
		const char *arg = s->arg[i];

		if (verb->args[i] == 'x')
			object(r, "exec", exec(r, arg));
		else if (verb->args[i] == 'E')
			object(r, "event", event(r, arg));
		else if (verb->args[i] == 'd' || verb->args[i] == 'f')
			object(r, verb->args[i] == 'd' ? "dst_context" : "src_context",
				context_of(r, arg));
		else if (verb->args[i] == 't') {
			thread_id = thread(r, atoi(arg));
			mini_exec(&r->m, "UPDATE thread SET %s = %lld WHERE id = %lld",
				verb->type == CALL_pthread_create ? "made_by" : "joined_by",
				(long long)r->m.calls, (long long)thread_id);
		}
	}
	if (more && !strcmp(more, "green"))
		mini_exec(&r->m, "UPDATE context SET green = 1 WHERE id = %lld",
			(long long)s->call.context);
	else if (more && !strncmp(more, "by ", 3))
		made_by(r, more + 3);
	else if (more)
		object(r,
			strstr(more, "captured")          ? "captured"
				: strstr(more, "content") ? "content"
							  : "attributes",
			atoi(strchr(more, '=') + 1));
	if (verb->type == CALL_cuLaunchKernelEx && strchr(verb->args, 'e')) {
		mini_exec(&r->m, "UPDATE call SET event = NULL WHERE id = %lld",
			(long long)r->m.calls);
		object(r, "launch_event", event(r, s->arg[1]));
	}
	if (!strcmp(s->verb, "exec_update"))
		mini_exec(&r->m, "INSERT INTO graph_update VALUES (%lld, %lld, %lld)",
			(long long)r->m.calls, (long long)exec(r, s->arg[0]),
			(long long)exec(r, s->arg[1]));
	if (strstr(s->verb, "_event") && verb->args[0] == 'x')
		mini_exec(&r->m,
			"INSERT INTO graph_change VALUES (%lld, NULL, %lld, 'record', %s, "
			"%lld, NULL)",
			(long long)r->m.calls, (long long)known(r, s->arg[1]),
			s->verb[0] == 'e' ? s->arg[0] + 1 : "NULL", (long long)event(r, s->arg[2]));
	if (!strcmp(s->verb, "free_of"))
		mini_exec(&r->m,
			"INSERT INTO allocation (process, address, bytes, memory, freed) "
			"VALUES (1, 1, 1, '%s', %lld)",
			s->arg[0], (long long)r->m.calls);
	if (!strcmp(s->verb, "launch") && s->args > 1) { /* launch STREAM MEMORY */
		mini_exec(&r->m,
			"INSERT INTO allocation (process, address, bytes, memory) "
			"VALUES (1, 1, 1, '%s')",
			s->arg[1]);
		mini_exec(&r->m, "INSERT INTO operand VALUES (%lld, 'word', 0, 1, %lld)",
			(long long)r->m.calls,
			(long long)sqlite3_last_insert_rowid(r->m.db.handle));
	}
}

static void add_call(struct run *r, struct statement *s)
{
	const struct verb *verb = find_verb(s->verb);
	int last = 0;

	s->call.type = verb->type;
	s->call.thread = thread(r, s->call.thread ? (int)s->call.thread : 1);
	for (; verb->args[last]; last++) {
		const char *arg = s->arg[last];

		assert_true(last < s->args || verb->args[last] == 'c');
		if (verb->args[last] == 's') {
			s->call.stream = stream(r, arg);
			s->call.context = context_of(r, arg);
		} else if (verb->args[last] == 'e') {
			s->call.event = event(r, arg);
		} else if (verb->args[last] == 'E') {
			event(r, arg);
		} else if (verb->args[last] == 'c') {
			s->call.context = context_of(r, arg);
		}
	}
	take_memory(r, s, last);
	if (verb->type == CALL_cuMemFree_v2 || verb->type == CALL_cuMemFreeHost ||
		verb->type == CALL_cuMemHostUnregister)
		s->call.ptr = 1;
	s->call.at = r->now;
	s->call.until = r->now + (s->call.until > 0 ? s->call.until : 2);
	if (s->call.runs[1] > 0) {
		s->call.runs[0] = r->now + 0.5;
		s->call.runs[1] += r->now;
	}
	mini_call(&r->m, s->call);
	finish_call(r, verb, s);
}

static void add_statement(struct run *r, char *text)
{
	struct statement s = { .args = 0 };

	take_words(&s, text);
	if (!*s.verb)
		return;
	if (!strcmp(s.verb, "node")) {
		add_node(r, &s);
		return;
	}
	r->now += 10;
	add_call(r, &s);
	if (!*s.label)
		return;
	assert_true(r->label_count < LABELS);
	memcpy(r->label[r->label_count].text, s.label, sizeof(s.label));
	r->label[r->label_count++].call = r->m.calls;
}

/* --- what the engine says --- */

static struct label *label(struct run *r, const char *text)
{
	for (int i = 0; i < r->label_count; i++)
		if (!strcmp(r->label[i].text, text))
			return &r->label[i];
	print_message("no label '%s'\n", text);
	fail();
	return NULL;
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
	const struct label *a = label(r, pair->a);
	enum order_strength is = order_before_node(order, a->epoch, a->exec,
		*pair->a_node ? known(r, pair->a_node) : 0,
		*pair->b_node ? known(r, pair->b_node) : 0);

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
	for (int i = 0; i < r->label_count; i++) {
		if (r->label[i].call != call->id)
			continue;
		r->label[i].epoch = w->order.epoch;
		r->label[i].exec = call->exec;
		while (next_pair(&text, &pair))
			if (!strcmp(pair.b, r->label[i].text))
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

	assert_int_equal(analyze(&r->m.db), 0);
	path = order_path_open(&r->m.db);
	assert_non_null(path);
	while (next_pair(&text, &pair)) {
		struct order_link *link = NULL;
		size_t count;
		int found = order_path_find(path, label(r, pair.b)->call, label(r, pair.a)->call,
			ORDER_GUARANTEED, &link, &count);

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
	char *program = strdup(c->program), *statement, *rest = NULL;

	assert_non_null(r);
	mini_init(&r->m);
	r->context[0] = 1;
	for (int i = 1; i < 3; i++)
		r->context[i] = mini_context(&r->m, i);
	r->expect = c->expect;
	r->now = 10;
	for (statement = strtok_r(program, ";", &rest); statement;
		statement = strtok_r(NULL, ";", &rest))
		add_statement(r, statement);
	w.order.edge = no_edge;
	w.order.db = &r->m.db;
	assert_int_equal(walk(&r->m.db, visit, &w), 0);
	order_release(&w.order);
	assert_int_equal(r->checked, count_pairs(c->expect));
	assert_true(r->checked > 0);
	assert_true(strlen(c->source) > 20);
	check_edges(r);
	mini_release(&r->m);
	free(program);
	free(r);
}

static void there_are_enough(void **state)
{
	size_t count = sizeof(cases) / sizeof(*cases), hardware = 0;

	(void)state;
	for (size_t i = 0; i < count; i++)
		hardware += cases[i].hardware == HW;
	print_message("%zu cases, %zu of them for hardware\n", count, hardware);
	assert_true(count >= 80 && hardware >= 25);
}

int main(void)
{
	size_t count = sizeof(cases) / sizeof(*cases);
	struct CMUnitTest tests[sizeof(cases) / sizeof(*cases) + 1];

	for (size_t i = 0; i < count; i++)
		tests[i] = (struct CMUnitTest){ cases[i].name, run_case, NULL, NULL,
			(void *)(uintptr_t)&cases[i] };
	tests[count] = (struct CMUnitTest)cmocka_unit_test(there_are_enough);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
