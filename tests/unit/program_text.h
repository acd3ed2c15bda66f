/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of calls as text: a list of statements, split by semicolons, each 10 us after the one before
 * it.
 *
 *	[LABEL:] [!]VERB [NAME...] [OPTION...]
 *
 * ! marks a call that failed.  Verbs are in program_verbs.def.  Names, made as they are needed:
 * streams L legacy, b1 blocking, n1 non-blocking, p1 per-thread, M1 moved, with ' of the second
 * device's context, with '' of the third's; events e1, and f1, whose creation was not recorded;
 * graphs g1, their nodes by any name; executables x1; kernels by what they do:
 *
 *	store[~][!][*][/BYTES][:FROM][+...]	load, atomic; pointer: its code is not known,
 *						unknown: nor what it is given
 *
 * which is by default the first 32K of the memory; ~ some of these bytes, * in a place that is not
 * known, ! waiting for another kernel; a dot and a letter tell kernels that do the same apart.
 *
 *	@2		thread 2
 *	+5 ++5		the call takes 5 us (else 2), and the next one comes after these
 *	=100 =5-105	its operation runs from 0.5 or 5 us after the entry of the call on
 *	#64K		bytes
 *	[32K] dst[0]	operand in the memory MEMORY (a launch has one without being asked);
 *			[901:32K] in an allocation by number, [a] [a:32K] by name; ptr[0]: the
 *			pointer of the call
 *	5..100 8=99	the call enters at 5 and returns at 100 (else after 2), and its operation
 *			runs from 8 to 99, from the origin of times on; sums of products, 8+3*9
 *	h2d pinned	direction and host memory; a launch with a kind of memory names such memory
 *	ROLE=NUMBER	a row of call_object
 *	:20 :fill.20	called in that line
 *	by:FILE		made by two functions of that file
 *	ran:2,125,126	a host function that thread 2 ran from 125 to 126
 *	beneath		called by the call before it
 *	8x256		blocks and threads of each
 *	result:600 hangs	what it returned, that it never did
 *	m3		its pointer is 0x3000
 *
 * The names of calls are verbs, too.  Other statements: pause US; at US, the entry of the next call
 * and the origin of times; next US, an origin so much later; memory KIND; allocation [NAME] KIND,
 * where it is not device memory; depends KERNEL WAITS TRIGGERS, of a programmatic launch; SQL, in
 * which $NAME is the number of what has this name and $ the last call's; for graphs
 *
 *	add g1 NODE KERNEL|TYPE [g2...|e1] [chained]	with bodies, a child, or an event; after
 *						the node before it
 *	edge g1 NODE NODE [programmatic]
 *	instantiate x1 g1
 *	node x1 NODE TYPE [e1] [after NODE]	of an executable that was not seen being made
 */
#ifndef CUFENCE_TESTS_PROGRAM_TEXT_H
#define CUFENCE_TESTS_PROGRAM_TEXT_H

#include "program_words.h"

/* --- statements without a call of their own --- */

static inline int64_t program_exec(struct program *p, const char *text)
{
	int64_t id = program_known(p, text);

	if (id)
		return id;
	id = program_name(p, text, ++p->execs);
	mini_exec(&p->m, "INSERT INTO graph (id, process, handle) VALUES (%lld, 1, %lld)",
		(long long)id, (long long)id);
	mini_exec(&p->m,
		"INSERT INTO graph_exec (id, process, handle, graph, as_of) "
		"VALUES (%lld, 1, %lld, %lld, 1 << 40)",
		(long long)id, (long long)id, (long long)id);
	return id;
}

static inline void program_add_edge(struct program *p, int64_t graph, int64_t from, int64_t to,
	int64_t added, int programmatic)
{
	assert_true(from && to);
	mini_exec(&p->m, "INSERT INTO graph_edge VALUES (%lld, %lld, %lld, %lld, NULL, %d)",
		(long long)graph, (long long)from, (long long)to, (long long)added, programmatic);
}

static inline void program_node(struct program *p, const struct program_statement *s)
{
	int64_t graph = program_exec(p, s->arg[0]), after = 0, acts_on = 0, node;

	for (int i = 3; i < s->args; i++) {
		if (!strcmp(s->arg[i], "after"))
			after = program_known(p, s->arg[i + 1]);
		else if (s->arg[i][0] == 'e')
			acts_on = program_event(p, s->arg[i]);
	}
	mini_exec(&p->m,
		"INSERT INTO graph_node (graph, type, call, event) VALUES (%lld, '%s', "
		"1, nullif(%lld, 0))",
		(long long)graph, s->arg[2], (long long)acts_on);
	node = program_name(p, s->arg[1], sqlite3_last_insert_rowid(p->m.db.handle));
	if (after)
		program_add_edge(p, graph, after, node, 1, 0);
}

static inline int64_t program_graph(struct program *p, const char *text)
{
	int64_t id = program_known(p, text);

	assert_int_equal(*text, 'g');
	if (id)
		return id;
	id = program_name(p, text, atoi(text + 1));
	mini_exec(&p->m, "INSERT INTO graph VALUES (%lld, 1, %lld, NULL, NULL)", (long long)id,
		(long long)(63 + id));
	return id;
}

/* name: [ and that of an allocation */
static inline int64_t program_allocation(struct program *p, const char *name, const char *memory,
	int64_t bytes)
{
	long long id = program_known(p, name);

	if (id)
		return id;
	id = program_name(p, name, MEMORY + ++p->allocations);
	mini_exec(&p->m, "INSERT INTO allocation VALUES (%lld, 1, %lld, %lld, '%s', NULL, NULL)",
		id, ADDRESS + (id - MEMORY) * BYTES, (long long)bytes, memory);
	return id;
}

static inline void program_add_operand(struct program *p, const char *text, const char *index)
{
	long long allocation = MEMORY;
	const char *at = strchr(text, '[') + 1, *colon = strchr(at, ':');
	long long address = ADDRESS;
	char name[32];

	program_copy(name, sizeof(name), at - 1, strcspn(at, ":]") + 1);
	if (islower((unsigned char)*at)) {
		allocation = program_allocation(p, name, "device", BYTES);
		address += (allocation - MEMORY) * BYTES + (colon ? program_number(colon + 1) : 0);
	} else if (colon) {
		allocation = atoll(at);
		address += program_number(colon + 1);
	} else {
		program_memory(p, "device");
		address += program_number(at);
	}
	mini_exec(&p->m, "INSERT INTO operand VALUES (%lld, '%.*s', %s, %lld, %lld)",
		(long long)p->m.calls, *text == '[' ? 4 : (int)strcspn(text, "["),
		*text == '[' ? "word" : text, index, address, allocation);
}

/* A node that is added by a call: both have the same number. */
static inline void program_add_node(struct program *p, const struct program_statement *s)
{
	static const char *const types[] = { "empty", "alloc", "free", "record", "graph",
		"conditional" };
	const char *type = "kernel";
	int64_t graph = program_graph(p, s->arg[0]), kernel = 0, call, other;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!*s->kernel && !strcmp(s->arg[2], types[i]))
			type = types[i];
	if (*s->kernel)
		kernel = program_kernel(p, s->kernel);
	p->now += 10;
	call = program_name(p, s->arg[1],
		MINI_CALL(&p->m, .type = CALL_cuGraphAddKernelNode_v2, .at = p->now,
			.kernel = kernel, .site = s->call.site));
	if (kernel)
		program_add_operand(p, s->operands ? *s->operand : "[0]", "0");
	mini_exec(&p->m,
		"INSERT INTO graph_node (id, graph, type, call) VALUES (%lld, %lld, '%s', %lld)",
		(long long)call, (long long)graph, type, (long long)call);
	for (int i = 3 - !!kernel; i < s->args; i++) {
		if (!strcmp(s->arg[i], "chained")) {
			program_add_edge(p, graph, call - 1, call, call, 0);
			continue;
		}
		other = *s->arg[i] == 'g' ? program_graph(p, s->arg[i])
					  : program_event(p, s->arg[i]);
		if (!strcmp(type, "conditional"))
			mini_exec(&p->m, "INSERT INTO graph_body VALUES (%lld, %lld)",
				(long long)call, (long long)other);
		else
			mini_exec(&p->m, "UPDATE graph_node SET %s = %lld WHERE id = %lld",
				*s->arg[i] == 'g' ? "child" : "event", (long long)other,
				(long long)call);
	}
}

static inline void program_instantiate(struct program *p, const struct program_statement *s)
{
	int64_t graph = program_graph(p, s->arg[1]), call;

	p->now += 10;
	call = MINI_CALL(&p->m, .type = CALL_cuGraphInstantiateWithFlags, .at = p->now);
	mini_exec(&p->m, "INSERT INTO graph_exec VALUES (%lld, 1, 99, %lld, %lld, %lld, NULL)",
		(long long)program_name(p, s->arg[0], ++p->execs), (long long)graph,
		(long long)call, (long long)call);
}

static inline void program_depends(struct program *p, const struct program_statement *s)
{
	int64_t kernel = program_kernel(p, s->kernel);

	mini_exec(&p->m, "INSERT INTO kernel_dependence VALUES (%lld, %s, %s)", (long long)kernel,
		s->arg[0], s->arg[1]);
	mini_exec(&p->m, "UPDATE kernel_access SET early = %d WHERE kernel = %lld",
		*s->arg[0] == '0', (long long)kernel);
}

static inline void program_sql(struct program *p, const char *text)
{
	char sql[1024] = "", name[64];
	size_t used = 0, length;

	for (; *text; text++) {
		assert_true(used < sizeof(sql) - 32);
		if (*text != '$') {
			sql[used++] = *text;
			continue;
		}
		length = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789~/:.!+");
		program_copy(name, sizeof(name), text + 1, length);
		if (*name == ':')
			program_site(p, name);
		assert_true(!*name || program_known(p, name));
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%lld",
			(long long)(*name ? program_known(p, name) : p->m.calls));
		text += length;
	}
	mini_exec(&p->m, "%s", sql);
}

static inline int program_other(struct program *p, struct program_statement *s)
{
	int64_t graph;

	if (!strcmp(s->verb, "node")) {
		program_node(p, s);
	} else if (!strcmp(s->verb, "add")) {
		program_add_node(p, s);
	} else if (!strcmp(s->verb, "edge")) {
		graph = program_graph(p, s->arg[0]);
		int64_t from = program_known(p, s->arg[1]), to = program_known(p, s->arg[2]);
		program_add_edge(p, graph, from, to, from > to ? from : to, s->args > 3);
	} else if (!strcmp(s->verb, "instantiate")) {
		program_instantiate(p, s);
	} else if (!strcmp(s->verb, "depends")) {
		program_depends(p, s);
	} else if (!strcmp(s->verb, "pause")) {
		p->now += atof(s->arg[0]);
	} else if (!strcmp(s->verb, "at")) {
		p->origin = program_time(s->arg[0], s->arg[0] + strlen(s->arg[0]));
		p->now = p->origin - 10;
	} else if (!strcmp(s->verb, "next")) {
		p->origin += program_time(s->arg[0], s->arg[0] + strlen(s->arg[0]));
		p->now = p->origin - 10;
	} else if (!strcmp(s->verb, "allocation")) {
		s->operand[0][strlen(*s->operand) - 1] = '\0';
		program_allocation(p, *s->operand, s->memory,
			s->call.bytes ? s->call.bytes : BYTES);
	} else if (!strcmp(s->verb, "memory")) {
		program_memory(p, s->memory ? s->memory : s->arg[0]);
	} else {
		return 0;
	}
	return 1;
}

/* --- calls --- */

static inline void program_args(struct program *p, const struct program_verb *verb,
	const struct program_statement *s)
{
	for (int i = 0; verb->args[i]; i++) {
		const char *arg = s->arg[i];

		if (verb->args[i] == 'x')
			program_object(p, "exec", program_exec(p, arg));
		else if (verb->args[i] == 'E')
			program_object(p, "event", program_event(p, arg));
		else if (verb->args[i] == 'd' || verb->args[i] == 'f')
			program_object(p, verb->args[i] == 'd' ? "dst_context" : "src_context",
				program_context(p, arg));
		else if (verb->args[i] == 't')
			mini_exec(&p->m, "UPDATE thread SET %s = %lld WHERE id = %lld",
				verb->type == CALL_pthread_create ? "made_by" : "joined_by",
				(long long)p->m.calls, (long long)program_thread(p, atoi(arg)));
	}
}

static inline void program_options(struct program *p, const struct program_verb *verb,
	const struct program_statement *s)
{
	int thread;
	double enter, exit;

	for (int i = 0; i < s->objects; i++)
		program_object(p, s->object[i].role, s->object[i].value);
	if (*s->maker)
		program_made_by(p, s->maker);
	if (*s->host_run) {
		assert_int_equal(sscanf(s->host_run, "%d,%lf,%lf", &thread, &enter, &exit), 3);
		mini_exec(&p->m, "INSERT INTO host_run VALUES (1, %lld, %lld, %lld, %lld, 1, 2)",
			(long long)program_thread(p, thread), (long long)p->m.calls,
			(long long)mini_ns(enter), (long long)mini_ns(exit));
	}
	if (s->call.kernel && !s->operands && strncmp(s->kernel, "unknown", 7) != 0)
		program_add_operand(p, "[0]", "0");
	for (int i = 0; i < (s->call.ptr ? 0 : s->operands); i++) {
		const char *operand = s->operand[i];

		program_add_operand(p, operand,
			strncmp(operand, "dst", 3) && strncmp(operand, "src[", 4) &&
					strncmp(operand, "node", 4)
				? "0"
				: "NULL");
	}
	if (strcmp(s->verb, "free_of") && (strcmp(s->verb, "launch") || !s->memory))
		return;
	mini_exec(&p->m,
		"INSERT INTO allocation (process, address, bytes, memory, freed) "
		"VALUES (1, 1, 1, '%s', nullif(%lld, 0))",
		s->memory ? s->memory : s->arg[0],
		verb->type == CALL_cuMemFree_v2 ? (long long)p->m.calls : 0LL);
	if (verb->type == CALL_cuLaunchKernel)
		mini_exec(&p->m, "INSERT INTO operand VALUES (%lld, 'word', 0, 1, %lld)",
			(long long)p->m.calls,
			(long long)sqlite3_last_insert_rowid(p->m.db.handle));
}

static inline void program_finish_call(struct program *p, const struct program_verb *verb,
	const struct program_statement *s)
{
	const char *more = verb->more;

	program_args(p, verb, s);
	if (more && !strcmp(more, "green"))
		mini_exec(&p->m, "UPDATE context SET green = 1 WHERE id = %lld",
			(long long)s->call.context);
	else if (more && !strncmp(more, "by ", 3))
		program_made_by(p, more + 3);
	else if (more && strchr(more, '='))
		program_object(p,
			strstr(more, "captured")          ? "captured"
				: strstr(more, "content") ? "content"
							  : "attributes",
			atoi(strchr(more, '=') + 1));
	if (verb->type == CALL_cuLaunchKernelEx && strchr(verb->args, 'e')) {
		mini_exec(&p->m, "UPDATE call SET event = NULL WHERE id = %lld",
			(long long)p->m.calls);
		program_object(p, "launch_event", program_event(p, s->arg[1]));
	}
	if (!strcmp(s->verb, "exec_update"))
		mini_exec(&p->m, "INSERT INTO graph_update VALUES (%lld, %lld, %lld)",
			(long long)p->m.calls, (long long)program_exec(p, s->arg[0]),
			(long long)(*s->arg[1] == 'g' ? program_graph(p, s->arg[1])
						      : program_exec(p, s->arg[1])));
	if (strstr(s->verb, "_event") && verb->args[0] == 'x')
		mini_exec(&p->m,
			"INSERT INTO graph_change VALUES (%lld, NULL, %lld, 'record', %s, "
			"%lld, NULL)",
			(long long)p->m.calls, (long long)program_known(p, s->arg[1]),
			s->verb[0] == 'e' ? s->arg[0] + 1 : "NULL",
			(long long)program_event(p, s->arg[2]));
	program_options(p, verb, s);
}

/* What the names and the memory of a call say of its columns. */
static inline void program_columns(struct program *p, const struct program_verb *verb,
	struct program_statement *s)
{
	int last = 0, down = s->call.direction == 1 + COPY_D2H;

	for (; verb->args[last]; last++) {
		const char *arg = s->arg[last], kind = verb->args[last];

		assert_true(last < s->args || kind == 'c');
		if (kind == 's')
			s->call.stream = program_stream(p, arg);
		if (kind == 'e' && verb->type == CALL_cuEventCreate)
			program_name(p, arg, mini_event(&p->m));
		if (kind == 'e' || kind == 'E')
			s->call.event = program_event(p, arg);
		if (kind == 's' || kind == 'c')
			s->call.context = program_context(p, arg);
	}
	if (s->memory && (down || !s->call.direction))
		s->call.dst = s->memory;
	else
		s->call.src = s->memory;
	if (s->call.direction && s->memory && strcmp(s->memory, "device"))
		*(down ? &s->call.src : &s->call.dst) = "device";
	if (*s->kernel)
		s->call.kernel = program_kernel(p, s->kernel);
	if (verb->more && !strcmp(verb->more, "m") && !s->call.ptr)
		s->call.ptr = 1;
	if (!strncmp(*s->operand, "ptr[", 4) ||
		(**s->operand == '[' &&
			kind_family(call_types[verb->type].kind) == FAMILY_host_access))
		s->call.ptr = ADDRESS + program_number(strchr(*s->operand, '[') + 1);
}

static inline void program_call_of(struct program *p, struct program_statement *s)
{
	const struct program_verb *verb = program_find_verb(s->verb);

	p->now = s->timed ? s->call.at : p->now + 10;
	s->call.type = verb->type;
	s->call.thread = program_thread(p, s->call.thread ? (int)s->call.thread : 1);
	program_columns(p, verb, s);
	s->call.at = p->now;
	s->call.until += s->timed && s->call.until ? 0 : p->now + (s->call.until > 0 ? 0 : 2);
	if (s->lasts) {
		s->call.runs[0] += p->now;
		s->call.runs[1] += p->now;
	}
	mini_call(&p->m, s->call);
	program_finish_call(p, verb, s);
	p->now += s->next;
	if (!*s->label)
		return;
	assert_true(p->label_count < PROGRAM_LABELS);
	memcpy(p->label[p->label_count].text, s->label, sizeof(s->label));
	p->label[p->label_count++].call = p->m.calls;
}

static inline void program_statement(struct program *p, char *text)
{
	struct program_statement s = { .args = 0 };

	text += strspn(text, " \t\n");
	if (isupper((unsigned char)*text)) {
		program_sql(p, text);
		return;
	}
	program_take_words(p, &s, text);
	if (*s.verb && !program_other(p, &s))
		program_call_of(p, &s);
}

static inline void program_do(struct program *p, const char *format, ...)
{
	char *text, *statement, *rest = NULL;
	va_list values;

	va_start(values, format);
	assert_true(vasprintf(&text, format, values) >= 0);
	va_end(values);
	for (statement = strtok_r(text, ";", &rest); statement;
		statement = strtok_r(NULL, ";", &rest))
		program_statement(p, statement);
	free(text);
}

/* The call of a label. */
static inline int64_t program_call(const struct program *p, const char *label)
{
	for (int i = 0; i < p->label_count; i++)
		if (!strcmp(p->label[i].text, label))
			return p->label[i].call;
	fail_msg("no label '%s'", label);
	return 0;
}

static inline void program_begin(struct program *p)
{
	*p = (struct program){ 0 };
	mini_init(&p->m);
}

/* The hazards, in order: of tests of missing fences. */
#define PROGRAM_HAZARDS \
	"SELECT ifnull(group_concat(rule || ' ' || kind || ' ' || confidence || ' ' || " \
	"other_call || '-' || call || ifnull(' ' || why, ''), ', '), '') FROM hazard"

static inline void program_expect(struct program *p, const char *sql, const char *wanted)
{
	assert_string_equal(mini_text(&p->m, sql), wanted);
}

/* Analyzes, expects and ends. */
static inline void program_finish(struct program *p, const char *wanted)
{
	assert_int_equal(analyze(&p->m.db), 0);
	program_expect(p, PROGRAM_HAZARDS, wanted);
	mini_release(&p->m);
}

#endif
