/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases of tests/unit/order/order_cases.def that are marked HW, on a GPU, without cufence.
 *
 * Every kernel notes on the device when it began and ended.  If a pair is ordered, the first must
 * have ended before the second began; kernels that are not ordered must overlap in one of a few
 * tries, for which the first of them lasts longer.  Other operations are carried out, not judged.
 * Exits 77 if kernels compute nothing (the simulated device).
 *
 *	order_cases [PART-OF-A-NAME]
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { NO_HW, HW, SLOTS = 64, BYTES = 65536, TRIES = 5 };
constexpr unsigned long long SHORT_NS = 4000000, LONG_NS = 20000000, SLACK_NS = 2000;

struct order_case {
	const char *name, *program, *expect, *source;
	int hardware;
};

static const order_case cases[] = {
#define CASE(name, hardware, program, expect, source) { name, program, expect, source, hardware },
#include "../../unit/order/order_cases.def"
#undef CASE
};

struct span_times {
	unsigned long long begin, end;
};

static __device__ unsigned long long device_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

namespace cufence
{
/* In the next free slot: a graph's kernel takes another one at every launch. */
__global__ void span(unsigned long long ns, span_times *slots, unsigned *next)
{
	unsigned slot = atomicAdd(next, 1);
	unsigned long long begin = device_ns();

	while (device_ns() - begin < ns)
		;
	slots[slot % SLOTS] = { begin, device_ns() };
}
}

/* A row of slots, filled in order of launch: of one label, or of one executable graph. */
struct row {
	span_times *slots;
	unsigned *next;
	unsigned launches;
};

struct place {
	row *in;
	unsigned slot;
};

struct run {
	std::map<std::string, cudaStream_t> streams;
	std::map<std::string, cudaEvent_t> events;
	std::map<std::string, cudaGraphExec_t> execs;
	std::map<std::string, row> rows;
	std::map<std::string, place> labels;
	std::vector<void *> allocations;
	std::string waited_for;      /* pairs of the case that are not ordered */
};

static char *device_memory[2], *pinned[2], *pageable[2];

static cudaStream_t stream(run &r, const std::string &name)
{
	cudaStream_t made;

	if (name == "L")
		return cudaStreamLegacy;
	if (name[0] == 'p')
		return cudaStreamPerThread;
	if (r.streams.count(name))
		return r.streams[name];
	CHECK(cudaStreamCreateWithFlags(&made,
		name[0] == 'n' ? cudaStreamNonBlocking : cudaStreamDefault));
	return r.streams[name] = made;
}

static cudaEvent_t event(run &r, const std::string &name)
{
	if (!r.events.count(name))
		CHECK(cudaEventCreate(&r.events[name]));
	return r.events[name];
}

static row &row_of(run &r, const std::string &name)
{
	row made = { nullptr, nullptr, 0 };

	if (r.rows.count(name))
		return r.rows[name];
	CHECK(cudaMalloc(&made.slots, SLOTS * sizeof(*made.slots)));
	CHECK(cudaMalloc(&made.next, sizeof(*made.next)));
	CHECK(cudaMemset(made.slots, 0, SLOTS * sizeof(*made.slots)));
	CHECK(cudaMemset(made.next, 0, sizeof(*made.next)));
	return r.rows[name] = made;
}

/* Operations that another is not ordered after last longer, so that it can overlap them. */
static unsigned long long duration(const run &r, const std::string &label)
{
	return !label.empty() && (" " + r.waited_for).find(" " + label + "|") != std::string::npos
		       ? LONG_NS : SHORT_NS;
}

static void make_exec(run &r, const std::string &name)
{
	row &in = row_of(r, name);
	unsigned long long ns = LONG_NS;
	void *values[] = { &ns, &in.slots, &in.next };
	cudaKernelNodeParams params = {};
	cudaGraph_t graph;
	cudaGraphNode_t node;

	params.func = (void *)cufence::span;
	params.gridDim = params.blockDim = dim3(1);
	params.kernelParams = values;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
	CHECK(cudaGraphInstantiate(&r.execs[name], graph, 0));
	CHECK(cudaGraphDestroy(graph));
}

static void note(run &r, const std::string &label, row &in)
{
	if (!label.empty())
		r.labels[label] = { &in, in.launches };
	in.launches++;
}

static void CUDART_CB nothing(void *)
{
}

static void copy(const std::string &direction, const std::string &memory, cudaStream_t s,
	bool async)
{
	char **host = memory == "pinned" ? pinned : pageable;
	bool to_host = direction[2] == 'h', from_host = direction[0] == 'h';
	void *to = to_host ? host[0] : device_memory[0];
	void *from = from_host ? host[1] : device_memory[1];

	if (async)
		CHECK(cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDefault, s));
	else
		CHECK(cudaMemcpy(to, from, BYTES, to_host
			? (from_host ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost)
			: (from_host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice)));
}

/* A query that must return not ready, or that is repeated until it returns ready. */
template <typename Query> static void ask(bool not_ready, Query query)
{
	cudaError_t said = query();

	while (!not_ready && said == cudaErrorNotReady)
		said = query();
	if (said != (not_ready ? cudaErrorNotReady : cudaSuccess)) {
		fprintf(stderr, "a query said %s\n", cudaGetErrorString(said));
		exit(1);
	}
	cudaGetLastError();
}

/* Runs the verbs that act on streams' work; false: another verb. */
static bool submit(run &r, const std::string &verb, const std::string &label,
	const std::vector<std::string> &arg)
{
	if (verb == "launch") {
		row &in = row_of(r, "label " + label);

		note(r, label, in);
		cufence::span<<<1, 1, 0, stream(r, arg[0])>>>(duration(r, label), in.slots,
			in.next);
		CHECK(cudaGetLastError());
	} else if (verb == "graph") {
		note(r, label, r.rows[arg[0]]);
		CHECK(cudaGraphLaunch(r.execs[arg[0]], stream(r, arg[1])));
	} else if (verb == "set_async") {
		CHECK(cudaMemsetAsync(device_memory[0], 1, BYTES, stream(r, arg[0])));
	} else if (verb == "set") {
		CHECK(cudaMemset(arg[1] == "pinned" ? pinned[0] : device_memory[0], 1, BYTES));
	} else if (verb == "copy" || verb == "copy_async") {
		copy(arg[1], arg.size() > 2 ? arg[2] : "", stream(r, arg[0]), verb != "copy");
	} else if (verb == "host_func") {
		CHECK(cudaLaunchHostFunc(stream(r, arg[0]), nothing, nullptr));
	} else if (verb == "record") {
		CHECK(cudaEventRecord(event(r, arg[0]), stream(r, arg[1])));
	} else if (verb == "wait") {
		CHECK(cudaStreamWaitEvent(stream(r, arg[1]), event(r, arg[0]), 0));
	} else {
		return false;
	}
	return true;
}

static bool wait_or_free(run &r, const std::string &verb, bool failing,
	const std::vector<std::string> &arg)
{
	float ms;

	if (verb == "sync") {
		CHECK(cudaStreamSynchronize(stream(r, arg[0])));
	} else if (verb == "device_sync") {
		CHECK(cudaDeviceSynchronize());
	} else if (verb == "event_sync") {
		CHECK(cudaEventSynchronize(event(r, arg[0])));
	} else if (verb == "query") {
		ask(failing, [&] { return cudaStreamQuery(stream(r, arg[0])); });
	} else if (verb == "event_query") {
		ask(failing, [&] { return cudaEventQuery(event(r, arg[0])); });
	} else if (verb == "elapsed") {
		ask(failing, [&] {
			return cudaEventElapsedTime(&ms, event(r, arg[0]), event(r, arg[1]));
		});
	} else if (verb == "malloc") {
		r.allocations.push_back(nullptr);
		CHECK(cudaMalloc(&r.allocations.back(), BYTES));
	} else if (verb == "stream_destroy") {
		CHECK(cudaStreamDestroy(r.streams[arg[0]]));
		r.streams.erase(arg[0]);
	} else if (verb == "event_destroy") {
		CHECK(cudaEventDestroy(r.events[arg[0]]));
		r.events.erase(arg[0]);
	} else {
		return false;
	}
	return true;
}

/* prepare: only makes what the statement names, before anything is timed. */
static void execute(run &r, const std::string &statement, bool prepare)
{
	std::istringstream in(statement);
	std::string word, verb, label;
	std::vector<std::string> arg;
	bool failing;

	while (in >> word) {
		if (verb.empty() && word.back() == ':')
			label = word.substr(0, word.size() - 1);
		else if (verb.empty())
			verb = word;
		else
			arg.push_back(word);
	}
	failing = verb[0] == '!';
	if (failing)
		verb = verb.substr(1);
	if (prepare) {
		for (const std::string &name : arg) {
			bool numbered = name.size() == 2 && name[1] >= '0' && name[1] <= '9';

			if (numbered && strchr("nb", name[0]))
				stream(r, name);
			else if (numbered && name[0] == 'e')
				event(r, name);
		}
		if (verb == "launch")
			row_of(r, "label " + label);
		if (verb == "node")
			make_exec(r, arg[0]);
	} else if (verb != "node" && !submit(r, verb, label, arg) &&
		   !wait_or_free(r, verb, failing, arg)) {
		fprintf(stderr, "no verb '%s'\n", verb.c_str());
		exit(1);
	}
}

static void carry_out(run &r, const char *program, bool prepare)
{
	std::istringstream in(program);
	std::string statement;

	while (std::getline(in, statement, ';'))
		execute(r, statement, prepare);
	CHECK(cudaDeviceSynchronize());
}

static void clean_up(run &r)
{
	for (auto &s : r.streams)
		CHECK(cudaStreamDestroy(s.second));
	for (auto &e : r.events)
		CHECK(cudaEventDestroy(e.second));
	for (auto &x : r.execs)
		CHECK(cudaGraphExecDestroy(x.second));
	for (auto &in : r.rows) {
		CHECK(cudaFree(in.second.slots));
		CHECK(cudaFree(in.second.next));
	}
	for (void *allocation : r.allocations)
		CHECK(cudaFree(allocation));
}

static span_times times_of(const run &r, const std::string &label)
{
	const place &at = r.labels.at(label);
	span_times times;

	CHECK(cudaMemcpy(&times, at.in->slots + at.slot, sizeof(times), cudaMemcpyDeviceToHost));
	return times;
}

struct verdict {
	int ordered, apart, broken, no_overlap;
};

static verdict judge(const run &r, const order_case &c)
{
	std::istringstream in(c.expect);
	std::string pair;
	verdict v = { 0, 0, 0, 0 };

	while (in >> pair) {
		size_t at = pair.find_first_of("<|");
		std::string a = pair.substr(0, at), b = pair.substr(at + 1);

		if (!r.labels.count(a) || !r.labels.count(b))
			continue;
		span_times first = times_of(r, a), second = times_of(r, b);
		if (pair[at] == '<') {
			v.ordered++;
			v.broken += second.begin + SLACK_NS < first.end;
		} else {
			v.apart++;
			v.no_overlap += second.begin >= first.end;
		}
	}
	return v;
}

static verdict run_once(const order_case &c)
{
	run r;
	verdict v;

	r.waited_for = c.expect;
	carry_out(r, c.program, true);
	carry_out(r, c.program, false);
	v = judge(r, c);
	clean_up(r);
	return v;
}

/* Whether kernels do anything here. */
static bool warm_up()
{
	static const order_case first = { "", "node x1 k kernel; a: launch n1; graph x1 n1; "
		"host_func n1; record e1 n1; wait e1 n2; b: launch n2; sync n2", "a<b", "", HW };
	run r;
	bool computes;

	for (int i = 0; i < 2; i++) {
		CHECK(cudaMalloc(&device_memory[i], BYTES));
		CHECK(cudaMallocHost(&pinned[i], BYTES));
		pageable[i] = (char *)calloc(1, BYTES);
	}
	copy("h2d", "pageable", cudaStreamLegacy, false);
	r.waited_for = first.expect;
	carry_out(r, first.program, true);
	carry_out(r, first.program, false);
	computes = times_of(r, "a").end > 0;
	clean_up(r);
	return computes;
}

int main(int argc, char **argv)
{
	bool computes = warm_up();
	int count = 0, ordered = 0, apart = 0, failed = 0;

	for (const order_case &c : cases) {
		verdict v = { 0, 0, 0, 1 };

		if (c.hardware != HW || (argc > 1 && !strstr(c.name, argv[1])))
			continue;
		count++;
		for (int i = 0; i < (computes ? TRIES : 1) && v.no_overlap && !v.broken; i++)
			v = run_once(c);
		ordered += v.ordered;
		apart += v.apart;
		if (!computes || (!v.broken && !v.no_overlap))
			continue;
		failed++;
		printf("not ok: %s: %d of %d ordered pairs broken, %d of %d others never "
			"overlapped\n",
			c.name, v.broken, v.ordered, v.no_overlap, v.apart);
	}
	printf("%d cases, %d ordered pairs, %d that are not, %d cases failed%s\n", count, ordered,
		apart, failed, computes ? "" : "; kernels compute nothing here");
	return !computes ? 77 : failed || !count;
}
