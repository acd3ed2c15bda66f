/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks the program's calls that submit work or wait for it.  Pages are opened when the host has
 * waited for the work, its stream, its device, or an event recorded after it in its stream.
 * Waits that cover it through other streams are not tracked: its pages are then opened at the next
 * access, which the analyzer, knowing the order, finds correct.  So nothing here decides what is
 * reported.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "guard_internal.h"
#include "system.h"

#define EVENTS 4096 /* a power of two */
#define TRIES 16
#define REGISTER_UNUSUAL 0x0cu /* CU_MEMHOSTREGISTER_IOMEMORY, _READ_ONLY */

/* The last record of each event; the words of an entry are set by the thread that records it. */
static struct recorded {
	_Atomic uint64_t event, stream, at;
	_Atomic unsigned context;
} events[EVENTS];

static const struct guard_recorder *recorder;

/* Stream 0 is the legacy stream or the thread's own default stream. */
static uint64_t stream_key(const struct guard_call *call)
{
	uint64_t stream = call->field[FIELD_stream];

	if (!stream)
		stream = call->per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
	return stream == STREAM_PER_THREAD ? stream | (uint64_t)syscall(SYS_gettid) << 8 : stream;
}

/* --- events --- */

static struct recorded *find_event(uint64_t event, int make)
{
	uint32_t place = (uint32_t)(event * 0x9e3779b97f4a7c15u >> 40) & (EVENTS - 1);

	for (unsigned tries = 0; tries < TRIES; tries++, place = (place + 1) & (EVENTS - 1)) {
		uint64_t found = events[place].event;

		if (!found && make &&
			atomic_compare_exchange_strong(&events[place].event, &found, event))
			return &events[place];
		if (found == event)
			return &events[place];
		if (!found)
			return NULL;
	}
	return NULL;
}

static void record_event(const struct guard_call *call)
{
	struct recorded *recorded = find_event(call->field[FIELD_event], 1);

	/* The table is full: waits for this event open nothing. */
	if (!recorded)
		return;
	/* A wait between two stores must not combine the old record's stream with the new time. */
	recorded->at = 0;
	recorded->stream = stream_key(call);
	recorded->context = call->context;
	recorded->at = call->enter;
}

/* The legacy stream comes after all blocking streams. */
static void complete_stream(uint64_t stream, unsigned context, uint64_t until)
{
	if (stream == STREAM_LEGACY)
		pages_complete(context, until);
	else
		pages_complete_stream(stream, until);
}

static void complete_event(const struct guard_call *call)
{
	const struct recorded *recorded = find_event(call->field[FIELD_event], 0);

	if (!recorded || !recorded->at)
		return;
	complete_stream(recorded->stream, recorded->context, recorded->at);
}

/* --- waits --- */

/* The start of a query may be unknown: then all work counts. */
static uint64_t as_of(const struct guard_call *call)
{
	return call->enter ? call->enter : UINT64_MAX;
}

static void complete(const struct guard_call *call)
{
	if (call->field[FIELD_event])
		complete_event(call);
	else if (kind_waits(call->kind) >= WAITS_CONTEXT)
		pages_complete(kind_waits(call->kind) == WAITS_PROCESS ? 0 : call->context,
			as_of(call));
	else
		complete_stream(stream_key(call), call->context, as_of(call));
}

/* --- what work uses --- */

static struct host_end end_of(const uint64_t *field, enum field_kind which)
{
	int is_dst = which == FIELD_dst;
	uint64_t pitch = field[is_dst ? FIELD_dst_pitch : FIELD_src_pitch];
	uint64_t rows = field[is_dst ? FIELD_dst_height : FIELD_src_height];
	uint64_t depth = field[FIELD_depth];
	struct host_end end = { .low = field[which] };

	if (!field[FIELD_width] || !field[FIELD_height]) {
		end.high = end.low + field[FIELD_bytes];
		return end;
	}
	end.width = field[FIELD_width];
	end.height = field[FIELD_height];
	end.pitch = pitch ? pitch : end.width;
	end.slice = depth > 1 ? end.pitch * (rows ? rows : end.height) : 0;
	end.high = end.low + end.slice * (depth ? depth - 1 : 0) + end.pitch * (end.height - 1) +
		end.width;
	return end;
}

/* Reads of managed memory are guarded like unknown use: keys (pages.c) deny all access. */
void guard_uses_of_copy(const uint64_t *field,
	void (*function)(void *arg, const struct pending_use *use), void *arg)
{
	struct host_memory dst, src;
	int to = pages_find_memory(field[FIELD_dst], &dst);
	int from = pages_find_memory(field[FIELD_src], &src);
	struct pending_use use = { .end = end_of(field, to ? FIELD_dst : FIELD_src),
		.use = to                     ? USE_WRITE
			: from && src.managed ? USE_ANY
					      : USE_READ };

	if (!to && !from)
		return;
	/* The driver may make copies from host to host with the processor. */
	if (to && from)
		pages_count(GUARDED_UNKNOWN);
	else if (use.end.high > use.end.low)
		function(arg, &use);
}

#define WORDS 64 /* addresses among the parameters of a kernel */

/* "Any allocation named by a parameter": the whole of it. */
static void use_named(const uint64_t *word, unsigned count, int pinned,
	void (*function)(void *arg, const struct pending_use *use), void *arg)
{
	uintptr_t seen[WORDS];
	unsigned uses = 0, k;

	for (unsigned i = 0; i < count; i++) {
		struct host_memory memory;

		if (!pages_find_memory(word[i], &memory) || (!memory.managed && !pinned))
			continue;
		for (k = 0; k < uses && seen[k] != memory.start; k++)
			;
		if (k < uses)
			continue;
		seen[uses++] = memory.start;
		function(arg,
			&(struct pending_use){ .end = { .low = memory.start, .high = memory.end },
				.use = USE_ANY });
	}
}

void guard_uses_of_kernel(uint64_t kernel, void *const *values, void *const *extra,
	void (*function)(void *arg, const struct pending_use *use), void *arg)
{
	uint64_t word[WORDS];

	use_named(word, recorder->words(kernel, values, extra, word, WORDS), 1, function, arg);
}

/* --- submitted work --- */

static void guard_use(void *arg, const struct pending_use *use)
{
	struct pending_use submitted = *use;

	submitted.stream = stream_key(arg);
	submitted.context = ((const struct guard_call *)arg)->context;
	submitted.submitted = recorder->clock();
	pages_guard(&submitted);
}

static void submit_copy(const struct guard_call *call)
{
	struct host_memory memory;

	if (call->kind == KIND_COPY_BATCH)
		pages_count(GUARDED_BATCHED);
	else if (!pages_find_memory(call->field[FIELD_dst], &memory) &&
		!pages_find_memory(call->field[FIELD_src], &memory))
		return;
	else if (!call->by_device)
		pages_count(GUARDED_UNKNOWN);
	else
		guard_uses_of_copy(call->field, guard_use, (void *)call);
}

/*
 * Kernels may use pinned memory to exchange words with the host while they run, and the host polls
 * them: only managed memory is guarded.
 */
static void submit_kernel(const struct guard_call *call)
{
	uint64_t word[WORDS];

	if (call->function && pages_have_managed)
		use_named(word,
			recorder->words(call->function, call->values, call->extra, word, WORDS), 0,
			guard_use, (void *)call);
}

static void submit_set(const struct guard_call *call)
{
	struct pending_use use = { .end = end_of(call->field, FIELD_dst), .use = USE_WRITE };
	struct host_memory memory;

	if (pages_find_memory(use.end.low, &memory) &&
		(memory.managed || !kind_has(call->kind, K_DEFAULT_STREAM)))
		guard_use((void *)call, &use);
}

/* Allocations have been added by own_pages.c, unless that had no room. */
static void add_memory(const struct guard_call *call)
{
	uintptr_t start = call->field[FIELD_ptr];
	struct host_memory memory;

	if (call->kind == KIND_REGISTER_HOST ? call->field[FIELD_flags] & REGISTER_UNUSUAL
					     : pages_find_memory(start, &memory) && memory.base)
		return;
	memory = (struct host_memory){ .start = start,
		.end = start + call->field[FIELD_bytes],
		.managed = call->kind == KIND_ALLOC_MANAGED };
	pages_add_memory(&memory);
}

/* The call became a node of a graph. */
static int is_captured(const struct guard_call *call)
{
	uint64_t stream = call->field[FIELD_stream];
	int (*ask)(uint64_t, int *), status;

	*(void **)&ask = call->capturing && kind_has(call->kind, K_WORK)
		? recorder->symbol("cuStreamIsCapturing")
		: NULL;
	if (!stream)
		stream = call->per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
	return ask && !ask(stream, &status) && status;
}

static void called(const struct guard_call *call)
{
	if (is_captured(call))
		return;
	switch (kind_family(call->kind)) {
	case FAMILY_copy:
		/* Calls that wait return after the copy, or after its source was read. */
		if (!kind_has(call->kind, K_DEFAULT_STREAM))
			submit_copy(call);
		return;
	case FAMILY_set:
		submit_set(call);
		return;
	case FAMILY_launch:
		submit_kernel(call);
		return;
	case FAMILY_graph_launch:
		graphs_launch(call->field[FIELD_exec], guard_use, (void *)call);
		return;
	case FAMILY_graph:
	case FAMILY_exec:
	case FAMILY_node_set:
		graphs_called(call);
		return;
	case FAMILY_event:
		if (call->field[FIELD_event] && !call->capturing)
			record_event(call);
		return;
	case FAMILY_allocation:
		add_memory(call);
		return;
	default:
		complete(call);
	}
}

static void complete_all(void *arg)
{
	pages_complete(0, UINT64_MAX);
}

/* A handler may call it on a small stack. */
static void open_all(void)
{
	if (pages_pending)
		stacks_call(complete_all, NULL);
}

static unsigned counts(struct guard_count *count, unsigned room)
{
	static const char *const names[] = {
#define X(symbol, name) #name,
		GUARD_COUNTS(X)
#undef X
	};
	unsigned i;

	for (i = 0; i < GUARDED_COUNT && i < room; i++)
		count[i] = (struct guard_count){ names[i], pages_counted((enum guard_counter)i) };
	return i;
}

static const char *start(const struct guard_recorder *given)
{
	recorder = given;
	graphs_start(given);
	return pages_start(given);
}

__attribute__((visibility("default"))) const struct guard cufence_guard = { own_pages_wrap,
	own_pages_queries, start, pages_managed, open_all, called, counts, pages_child };
