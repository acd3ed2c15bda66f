/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the simulated driver as text: VERB NAME..., as sim_verbs.def has them.  A case finds
 * what failed, as VERB ERROR, what took 0.2 ms or more, as VERB MS, which may be one more or less,
 * and what a call gives, as VERB=NUMBER.  All other calls succeed at once.
 *
 * Names are made before the calls: streams L legacy, b1 blocking, n1 non-blocking; events e1;
 * graphs g1; memory of the device m1 and of the host h1; M1 and H1, which are copied in 1 ms;
 * kernels t1 that touch memory; with ' of the second device.  Other names are of nodes, and of what
 * calls make.
 */
#ifndef CUFENCE_TESTS_SIM_TEXT_H
#define CUFENCE_TESTS_SIM_TEXT_H

#include <pthread.h>

#include "cases.h"
#include "sim_driver.h"

enum { SIM_NAMES = 64, SIM_WORDS = 8, SIM_LARGE = 50 << 20, SIM_SMALL = 1 << 20 };

static struct {
	struct {
		char text[16];
		void *handle;
	} name[SIM_NAMES];
	size_t names;
	char word[SIM_WORDS][32]; /* of the statement, after its verb */
	size_t words;
	long found; /* what the call gave, -1: nothing */
	CUcontext context[2];
} sim;

static inline void *sim_made(const char *text)
{
	CUdeviceptr memory = 0;
	CUcontext current;
	void *made = NULL;
	CUmodule module;
	int rc = 0;

	drv.cuCtxGetCurrent(&current);
	drv.cuCtxSetCurrent(sim.context[strchr(text, '\'') != NULL]);
	if (*text == 'b' || *text == 'n')
		rc = (int)drv.cuStreamCreate((CUstream *)&made,
			*text == 'n' ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
	else if (*text == 'e')
		rc = (int)drv.cuEventCreate((CUevent *)&made, 0);
	else if (*text == 'g')
		rc = (int)drv.cuGraphCreate((CUgraph *)&made, 0);
	else if (*text == 'h' || *text == 'H')
		rc = (int)drv.cuMemAllocHost_v2(&made, *text == 'H' ? SIM_LARGE : SIM_SMALL);
	else if (*text == 'm' || *text == 'M')
		rc = (int)drv.cuMemAlloc_v2(&memory, *text == 'M' ? SIM_LARGE : SIM_SMALL);
	else if (*text == 't')
		rc = drv.cuModuleLoadData(&module, sim_ptx) ||
			drv.cuModuleGetFunction((CUfunction *)&made, module,
				"_ZN7cufence5touchEyPfm");
	assert_int_equal(rc, 0);
	drv.cuCtxSetCurrent(current);
	return memory ? (void *)(uintptr_t)memory : made;
}

/* What has this name, to be set by what makes it. */
static inline void **sim_slot(const char *text)
{
	for (size_t i = 0; i < sim.names; i++)
		if (!strcmp(sim.name[i].text, text))
			return &sim.name[i].handle;
	assert_true(sim.names < SIM_NAMES && strlen(text) < sizeof(sim.name->text));
	strcpy(sim.name[sim.names].text, text);
	sim.name[sim.names].handle = sim_made(text);
	return &sim.name[sim.names++].handle;
}

#define SLOT(i) ((void *)sim_slot(sim.word[i]))
#define NAMED(i) (*sim_slot(sim.word[i]))
#define STREAM(i) ((CUstream)(strcmp(sim.word[i], "L") ? NAMED(i) : NULL))
#define MEMORY(i) ((CUdeviceptr)NAMED(i))
#define NUMBER(i) ((unsigned)atoi(sim.word[i]))
#define NS(i) ((uint64_t)(atof(sim.word[i]) * MS))
/* Of the second device's context if the word is 1. */
#define CONTEXT(i) sim.context[NUMBER(i)]
#define FOUND(what) (sim.found = (long)(what), 0)

/* The nodes that words name from the first one on. */
static inline CUgraphNode *sim_nodes(size_t first)
{
	static CUgraphNode node[SIM_WORDS];

	for (size_t i = first; i < sim.words; i++)
		node[i - first] = NAMED(i);
	return node;
}

#define AFTER(first) sim_nodes(first), sim.words - (first)

static inline CUresult sim_launch(CUfunction function, CUstream stream, uint64_t ns,
	const CUlaunchAttribute *attribute)
{
	CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, stream, (CUlaunchAttribute *)attribute,
		attribute != NULL };

	return drv.cuLaunchKernelEx(&config, function, (void *[]){ &ns }, NULL);
}

/* On the other device the memory would be out of reach. */
static inline CUresult sim_touch(CUfunction function, CUstream stream, CUdeviceptr memory)
{
	void *values[] = { &(uint64_t){ 20 * MS }, &memory, &(uint64_t){ 1 } };

	return drv.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, values, NULL);
}

static inline CUresult sim_spin_per_thread(uint64_t ns)
{
	return drv.cuLaunchKernel_ptsz(spin_function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &ns },
		NULL);
}

static inline CUresult sim_add(CUgraphNode *node, CUgraph graph, uint64_t ns,
	const CUgraphNode *after, size_t count)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = { spin_function, 1, 1, 1, 1, 1, 1, 0, (void *[]){ &ns },
		NULL, NULL, NULL };

	return drv.cuGraphAddKernelNode_v2(node, graph, after, count, &params);
}

static inline CUresult sim_add_alloc(CUgraphNode *node, CUgraph graph, CUdeviceptr *memory)
{
	CUDA_MEM_ALLOC_NODE_PARAMS alloc = { .bytesize = 4096,
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } } };
	CUresult rc = drv.cuGraphAddMemAllocNode(node, graph, NULL, 0, &alloc);

	assert_true(alloc.dptr != 0);
	*memory = alloc.dptr;
	return rc;
}

/* The body is the graph of that name. */
static inline CUresult sim_add_if(CUgraph graph, unsigned value, CUgraph *body)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraphNode node;

	params.conditional.type = CU_GRAPH_COND_TYPE_IF;
	params.conditional.size = 1;
	assert_ok(drv.cuGraphConditionalHandleCreate(&params.conditional.handle, graph,
		sim.context[0], value, CU_GRAPH_COND_ASSIGN_DEFAULT));
	assert_ok(drv.cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	*body = params.conditional.phGraph_out[0];
	return 0;
}

static inline CUresult sim_set_kernel(CUgraphExec exec, CUgraphNode node, uint64_t ns)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;

	assert_ok(drv.cuGraphKernelNodeGetParams_v2(node, &params));
	assert_ptr_equal(params.func, spin_function);
	params.kernelParams = (void *[]){ &ns };
	return drv.cuGraphExecKernelNodeSetParams_v2(exec, node, &params);
}

static inline CUresult sim_update(CUgraphExec exec, CUgraph graph)
{
	CUgraphExecUpdateResultInfo info;
	CUresult rc = drv.cuGraphExecUpdate_v2(exec, graph, &info);

	assert_true(!rc || info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	return rc;
}

static inline CUresult sim_edge_programmatic(CUgraph graph, CUgraphNode from, CUgraphNode to)
{
	CUgraphEdgeData port = { .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
		.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC };

	return drv.cuGraphAddDependencies_v2(graph, &from, &to, &port, 1);
}

static inline size_t sim_count(CUgraph graph, int roots)
{
	size_t count = 0;

	assert_ok((roots ? drv.cuGraphGetRootNodes : drv.cuGraphGetNodes)(graph, NULL, &count));
	return count;
}

static inline CUresult sim_launch_graph(CUgraph graph, CUstream stream)
{
	CUgraphExec exec;

	assert_ok(drv.cuGraphInstantiateWithFlags(&exec, graph, 0));
	return drv.cuGraphLaunch(exec, stream);
}

static inline CUresult sim_first_type(CUgraph graph)
{
	CUgraphNodeType type;
	CUgraphNode node;
	size_t count = 1;

	assert_ok(drv.cuGraphGetNodes(graph, &node, &count));
	assert_ok(drv.cuGraphNodeGetType(node, &type));
	return FOUND(type);
}

/* Gives a graph exactly when it succeeds. */
static inline CUresult sim_end(CUstream stream, CUgraph *graph)
{
	CUresult rc;

	*graph = NULL;
	rc = drv.cuStreamEndCapture(stream, graph);
	assert_true(!*graph == (rc != CUDA_SUCCESS));
	return rc;
}

static inline CUresult sim_mode(CUstreamCaptureMode mode)
{
	CUresult rc = drv.cuThreadExchangeStreamCaptureMode(&mode);

	return rc ? rc : FOUND(mode);
}

/* How many nodes the next one would follow. */
static inline CUresult sim_tips(CUstream stream)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *tips;
	cuuint64_t id;
	CUgraph graph;
	size_t count;

	assert_ok(drv.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &tips, &count));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	return FOUND(count);
}

static inline CUresult sim_capturing(CUstream stream)
{
	CUstreamCaptureStatus status;
	CUresult rc = drv.cuStreamIsCapturing(stream, &status);

	return rc ? rc : FOUND(status);
}

static inline CUresult sim_new_array(void)
{
	CUDA_ARRAY_DESCRIPTOR shape = { .Width = 4,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1 };
	CUarray array;

	return drv.cuArrayCreate_v2(&array, &shape);
}

static inline void *sim_query_in_thread(void *stream)
{
	drv.cuCtxSetCurrent(sim.context[0]);
	return (void *)(uintptr_t)drv.cuStreamQuery(stream);
}

static inline CUresult sim_query_elsewhere(CUstream stream)
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, sim_query_in_thread, stream);
	pthread_join(thread, &result);
	return (CUresult)(uintptr_t)result;
}

static inline CUresult sim_device_of(CUstream stream)
{
	CUdevice device;
	CUresult rc = drv.cuStreamGetDevice(stream, &device);

	return rc ? rc : FOUND(device);
}

static inline CUresult sim_stack(void)
{
	size_t bytes;
	CUresult rc = drv.cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE);

	return rc ? rc : FOUND(bytes);
}

static _Atomic int sim_called;

static inline void sim_host_function(void *unused)
{
	sim_called++;
}

static inline CUresult sim_add_host(CUgraphNode *node, CUgraph graph, CUgraphNode after)
{
	CUDA_HOST_NODE_PARAMS host = { sim_host_function, NULL };

	return drv.cuGraphAddHostNode(node, graph, &after, 1, &host);
}

#define VERB(name, call) \
	static CUresult sim_do_##name(void) \
	{ \
		return call; \
	}
#include "sim_verbs.def"
#undef VERB

static const struct {
	const char *name;
	CUresult (*call)(void);
} sim_verbs[] = {
#define VERB(name, call) { #name, sim_do_##name },
#include "sim_verbs.def"
#undef VERB
};

static inline const char *sim_error(CUresult rc)
{
	static const struct {
		CUresult rc;
		const char *name;
	} errors[] = {
		{ CUDA_ERROR_INVALID_VALUE, "INVALID_VALUE" },
		{ CUDA_ERROR_INVALID_HANDLE, "INVALID_HANDLE" },
		{ CUDA_ERROR_NOT_READY, "NOT_READY" },
		{ CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "GRAPH_EXEC_UPDATE_FAILURE" },
		{ CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "PEER_ACCESS_NOT_ENABLED" },
		{ CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "PEER_ACCESS_ALREADY_ENABLED" },
		{ CUDA_ERROR_CAPTURED_EVENT, "CAPTURED_EVENT" },
		{ CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "STREAM_CAPTURE_UNSUPPORTED" },
		{ CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "STREAM_CAPTURE_INVALIDATED" },
		{ CUDA_ERROR_STREAM_CAPTURE_MERGE, "STREAM_CAPTURE_MERGE" },
		{ CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "STREAM_CAPTURE_UNJOINED" },
		{ CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "STREAM_CAPTURE_ISOLATION" },
		{ CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "STREAM_CAPTURE_IMPLICIT" },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].rc == rc)
			return errors[i].name;
	return "another error";
}

static inline void sim_statement(char *text, FILE *out)
{
	char *save = NULL, *verb = strtok_r(text, " ", &save);
	size_t v = 0;
	CUresult rc;
	double ms;

	sim.words = 0;
	for (char *at = strtok_r(NULL, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
		assert_true(sim.words < SIM_WORDS && strlen(at) < sizeof(*sim.word));
		strcpy(sim.word[sim.words++], at);
	}
	while (v < sizeof(sim_verbs) / sizeof(*sim_verbs) && strcmp(sim_verbs[v].name, verb))
		v++;
	if (v == sizeof(sim_verbs) / sizeof(*sim_verbs))
		fail_msg("no verb '%s'", verb);
	sim.found = -1;
	ms = (double)drv.cufence_sim_clock();
	rc = sim_verbs[v].call();
	ms = ((double)drv.cufence_sim_clock() - ms) / 1e6;
	if (rc)
		fprintf(out, "%s%s %s", ftell(out) ? ", " : "", verb, sim_error(rc));
	if (sim.found >= 0)
		fprintf(out, "%s%s=%ld", ftell(out) ? ", " : "", verb, sim.found);
	if (ms >= 0.2)
		fprintf(out, "%s%s %.0f", ftell(out) ? ", " : "", verb, ms);
}

/* Makes what a statement names, before any of them takes time. */
static inline void sim_make(char *text, FILE *out)
{
	char *save = NULL;

	strtok_r(text, " ", &save);
	for (char *at = strtok_r(NULL, " ", &save); at; at = strtok_r(NULL, " ", &save))
		if (strchr("bneghHmMt", *at))
			sim_slot(at);
}

/* Whether they are the same but for times that are one more or less. */
static inline int sim_is_same(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		if (a[0] == ' ' && b[0] == ' ' && isdigit((unsigned char)a[1]) &&
			isdigit((unsigned char)b[1])) {
			if (labs(strtol(a, (char **)&a, 10) - strtol(b, (char **)&b, 10)) > 1)
				return 0;
		}
		if (*a != *b)
			return 0;
		if (!*a)
			return 1;
	}
	return *a == *b;
}

/* All is idle, and the kernel is loaded, on both devices. */
static inline void sim_text_quiet(void)
{
	for (int i = 1; i >= 0; i--) {
		if (!sim.context[i])
			continue;
		drv.cuCtxSetCurrent(sim.context[i]);
		sim_quiet(NULL);
	}
}

ANSWER(found)
{
	const char *found;

	sim.names = 0;
	sim_called = 0;
	cases_each(sim_make);
	sim_text_quiet();
	found = cases_each(sim_statement);
	return sim_is_same(found, cases_read.wanted) ? cases_read.wanted : found;
}

static inline int sim_text_setup(void **state)
{
	int devices = 0;

	sim_setup(state);
	drv.cuDeviceGetCount(&devices);
	for (int i = 0; i < devices && i < 2; i++)
		assert_ok(drv.cuDevicePrimaryCtxRetain(&sim.context[i], i));
	return 0;
}

#endif
