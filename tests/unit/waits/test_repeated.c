/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "repeated.c"

struct fix fix;
static uint64_t context;

static void nothing(void)
{
}

static CUresult current(CUcontext *made)
{
	*made = (CUcontext)(uintptr_t)context;
	return CUDA_SUCCESS;
}

static const struct hold_recorder recorder = { .own_begin = nothing, .own_end = nothing };

static struct fixed_call call_of(enum call_kind kind, uint64_t stream)
{
	return (struct fixed_call){ .kind = kind, .stream = stream << 8 };
}

static void launch(uint64_t stream)
{
	struct fixed_call call = call_of(KIND_LAUNCH, stream);

	repeated_pass(&call);
	repeated_pass(&call);
}

static void take(char *statement, FILE *out)
{
	static const struct {
		const char *verb;
		enum call_kind kind;
	} waits[] = { { "stream", KIND_STREAM_SYNC }, { "all", KIND_CONTEXT_SYNC },
		{ "event", KIND_EVENT_SYNC } };
	static struct fixed_call launched, waiting;
	struct fixed_call call;
	unsigned number = 0;
	char verb[16];

	assert_true(sscanf(statement, "%15s %u", verb, &number) > 0);
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		if (strcmp(verb, waits[i].verb))
			continue;
		call = call_of(waits[i].kind, number);
		repeated_pass(&call);
		if (repeated_wait(&call)) {
			fputs(" left", out);
		} else {
			repeated_note(&call);
			fputs(" made", out);
		}
		return;
	}
	if (!strcmp(verb, "launch")) {
		launch(number);
	} else if (!strcmp(verb, "more_launches")) {
		for (uint64_t i = 1; i <= STREAMS + 1; i++)
			launch(i);
	} else if (!strcmp(verb, "other")) {
		call = call_of(KIND_OTHER, 1);
		repeated_pass(&call);
	} else if (!strcmp(verb, "in")) {
		context = number;
	} else if (!strcmp(verb, "launch_begins")) {
		launched = call_of(KIND_LAUNCH, number);
		repeated_pass(&launched);
	} else if (!strcmp(verb, "wait_begins")) {
		waiting = call_of(KIND_STREAM_SYNC, number);
		repeated_pass(&waiting);
	} else if (!strcmp(verb, "launch_ends")) {
		repeated_pass(&launched);
	} else if (!strcmp(verb, "wait_ends")) {
		repeated_note(&waiting);
	} else {
		fail_msg("no verb '%s'", verb);
	}
}

ANSWER(found)
{
	memset(&all, 0, sizeof(all));
	context = 7;
	fix.recorder = &recorder;
	fix.driver.current_context = current;
	return cases_each(take);
}
