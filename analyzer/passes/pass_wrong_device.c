/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrong-device: a call failed because it names an object of another device. "cudaEventRecord will
 * fail if the input event and input stream are associated to different devices"; "a kernel launch
 * will fail if it is issued to a stream that is not associated to the current device" (CUDA
 * programming guide, "Stream and event behavior"); a memset of another device's memory needs peer
 * access.  A program that ignores the error continues as if the work had been submitted.
 *
 * Only failed calls with an error that such a call returns are checked.  A kernel that accesses
 * memory of another device without peer access corrupts its context ("an illegal memory access",
 * returned by later calls).  If that error occurred, kernels known to access such memory are
 * reported.
 */
#include <stddef.h>

#include "map.h"
#include "pass.h"
#include "print.h"

#define NO_ACCESS "no-peer-access"

#define ERROR_INVALID_VALUE 1
#define ERROR_INVALID_HANDLE 400
#define ERROR_ILLEGAL_ADDRESS 700

/* Calls reported of one place: a part of a loop is enough, and hides no other place. */
#define PLACE_CALLS 1000

/* Selects the device of the context in which an event was created. */
static const char event_sql[] =
	"SELECT x.device FROM call c JOIN event e ON e.id = c.event JOIN call m ON m.id = e.created"
	" JOIN context x ON x.id = m.context WHERE c.id = ?";

/* Selects the device of the memory that a memset writes. */
static const char memory_sql[] =
	"SELECT x.device FROM call c JOIN allocation a ON a.process = c.process"
	" AND c.dst >= a.address AND c.dst < a.address + a.bytes"
	" AND a.memory IN ('device', 'async')"
	" AND a.created < c.id AND ifnull(a.freed, c.id) >= c.id JOIN call m ON m.id = a.created"
	" JOIN context x ON x.id = m.context WHERE c.id = ?";

#define ERROR_ILLEGAL_ADDRESS 700

/* Selects a process's launches before a call that access memory of another device. */
static const char kernels_sql[] =
	"SELECT DISTINCT c.id FROM operand o CROSS JOIN call c ON c.id = o.call"
	" JOIN allocation a ON a.id = o.allocation JOIN call m ON m.id = a.created"
	" JOIN context home ON home.id = m.context JOIN stream s ON s.id = c.stream"
	" JOIN context x ON x.id = s.context WHERE o.call < ?2 AND o.role = 'word'"
	" AND a.memory = 'device' AND home.device >= 0 AND x.device >= 0"
	" AND home.device <> x.device AND c.result = 0 AND c.process = ?1"
	" AND EXISTS (SELECT 1 FROM kernel_access k WHERE k.kernel = c.kernel"
	"  AND k.offset = o.offset) ORDER BY c.id";

/* Returns the device that the query selects for a call; -1: none, -2 after a message. */
static int ask(sqlite3_stmt *q, int64_t call)
{
	int step = db_bind(q, "i", call) ? -1 : db_step(q);
	int device = step > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL ? sqlite3_column_int(q, 0)
									  : -1;

	sqlite3_reset(q);
	return step < 0 ? -2 : device;
}

/*
 * process -> the first call that enabled peer access; the last call that returned an illegal memory
 * access of a kernel.
 */
struct sharing {
	struct map enabled, illegal;
	struct map calls; /* place -> instances so far */
};

struct failed {
	const struct run *run;
	sqlite3_stmt *event, *memory;
	const struct map *enabled;
};

static void find_sharing(const struct run *run, struct sharing *sharing)
{
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_payload *payload = call ? run_payload(run, call) : NULL;

		if (!call)
			continue;
		if (payload->result == ERROR_ILLEGAL_ADDRESS)
			map_set(&sharing->illegal, payload->process, id);
		else if (call->type == CALL_cuCtxEnablePeerAccess && !payload->result &&
			!map_get(&sharing->enabled, payload->process, 0))
			map_set(&sharing->enabled, payload->process, id);
	}
}

/* Returns the device of the call's stream, -1: unknown. */
static int device_of(const struct run *run, const struct run_call *call)
{
	return run_context(run, run_stream(run, call->stream)->context)->device;
}

/* Returns the other device that the call names, -1: none, -2 after a message. */
static int other_device(const struct failed *failed, const struct run_call *call, int64_t id)
{
	const struct run_payload *payload = run_payload(failed->run, call);

	if (!call->stream)
		return -1;
	if (kind_family(call->kind) == FAMILY_event && payload->result == ERROR_INVALID_HANDLE)
		return ask(failed->event, id);
	if (kind_family(call->kind) == FAMILY_set && payload->result == ERROR_INVALID_VALUE &&
		id < (int64_t)map_get(failed->enabled, payload->process, INT64_MAX))
		return ask(failed->memory, id);
	if (kind_family(call->kind) == FAMILY_launch && payload->result == ERROR_INVALID_HANDLE)
		return run_context(failed->run, payload->context)->device;
	return -1;
}

static int add(struct findings *findings, struct map *calls, const struct instance *instance)
{
	int64_t place = findings_place(findings, instance->call);
	uint64_t count = place < 0 ? 0 : map_get(calls, (uint64_t)place, 0);

	if (place < 0)
		return -1;
	map_set(calls, (uint64_t)place, count + 1);
	return count < PLACE_CALLS ? findings_add(findings, instance) : 0;
}

static int check_failed(const struct failed *failed, struct findings *findings, struct map *calls)
{
	for (uint32_t id = 1; id < run_call_end(failed->run); id++) {
		const struct run_call *call = run_call(failed->run, id);
		struct instance instance = { .rule = RULE_wrong_device, .call = id, .least = 1 };
		int own, other;

		if (!call || !run_payload(failed->run, call)->result)
			continue;
		own = device_of(failed->run, call);
		other = other_device(failed, call, id);
		instance.process = run_payload(failed->run, call)->process;
		if (other == -2)
			return -1;
		if (own < 0 || other < 0 || own == other)
			continue;
		if (add(findings, calls, &instance))
			return -1;
	}
	return 0;
}

static int has_several_devices(const struct run *run)
{
	int first = -1;

	for (size_t i = 1; i < run->context_count; i++) {
		int device = run_context(run, (int64_t)i)->device;

		if (device >= 0 && first >= 0 && device != first)
			return 1;
		first = device >= 0 ? device : first;
	}
	return 0;
}

static int find_kernels(struct db *db, struct findings *findings, struct sharing *sharing)
{
	sqlite3_stmt *q = db_prepare(db, kernels_sql);
	int step = q ? 0 : -1;

	for (size_t i = 0; !step && i < sharing->illegal.size; i++) {
		const struct map_entry *entry = &sharing->illegal.entry[i];
		int64_t enabled = (int64_t)map_get(&sharing->enabled, entry->key, INT64_MAX);
		int64_t until = (int64_t)entry->value < enabled ? (int64_t)entry->value : enabled;

		if (!entry->used)
			continue;
		step = db_bind(q, "ii", (int64_t)entry->key, until) ? -1 : 0;
		while (!step && (step = db_step(q)) > 0) {
			struct instance instance = { .rule = RULE_wrong_device,
				.process = (int64_t)entry->key,
				.call = sqlite3_column_int64(q, 0),
				.least = 1,
				.why = NO_ACCESS };

			step = add(findings, &sharing->calls, &instance);
		}
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	return step;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct sharing sharing = { 0 };
	struct failed failed = { .run = input->run,
		.event = db_prepare(input->db, event_sql),
		.memory = db_prepare(input->db, memory_sql),
		.enabled = &sharing.enabled };
	int rc = failed.event && failed.memory ? 0 : -1;

	find_sharing(input->run, &sharing);
	if (!rc)
		rc = check_failed(&failed, findings, &sharing.calls);
	sqlite3_finalize(failed.event);
	sqlite3_finalize(failed.memory);
	if (!rc && has_several_devices(input->run))
		rc = find_kernels(input->db, findings, &sharing);
	map_release(&sharing.enabled);
	map_release(&sharing.illegal);
	map_release(&sharing.calls);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (worst->why) {
		if (words_operation(words, worst->call, out))
			return -1;
		fputs(" accesses memory of another device without peer access", out);
		return 0;
	}
	if (words_call(words, worst->call, out) || words_stream(words, worst->call, " on ", out))
		return -1;
	fputs(" failed: what it names belongs to different devices", out);
	return 0;
}

static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	(void)words;
	if (worst->why)
		fputs("give the kernel's device access to that memory "
		      "(cudaDeviceEnablePeerAccess), or copy it to the device first",
			out);
	return 0;
}

const struct pass pass_wrong_device = { .run = run, .say = say, .fix = fix };
