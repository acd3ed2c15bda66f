/* SPDX-License-Identifier: Apache-2.0 */
#include "guarded.h"

#include <string.h>

#include "allocation.h"
#include "faults.h"
#include "holding.h"
#include "join.h"
#include "hot.h"
#include "origin.h"
#include "resolve.h"
#include "window.h"

#define COUNT_LIMIT 24

static int watch(int (*handler)(const siginfo_t *info, void *context))
{
	return faults_watch(SIGSEGV, handler);
}

static uint64_t ticks(void)
{
	return clock_read();
}

static int is_simulated(void)
{
	return shim.virtual_clock != NULL;
}

/* All words of a short buffer, or of a long one those that point into a live granule. */
static unsigned copy_words(const struct function_layout *layout,
	const struct launch_arguments *arguments, void *const *values, uint64_t *word,
	unsigned room)
{
	uint64_t buffer[BUFFER_WORDS] = { 0 };
	unsigned count = layout ? layout->words : arguments->pointer_count, found = 0;

	if (layout)
		arguments_copy(buffer, layout, values);
	for (unsigned i = 0; i < count && found < room; i++) {
		const uint32_t *halves = arguments->pointer[i % MAX_POINTERS].pointer;

		word[found] = layout ? buffer[i] : halves[0] | (uint64_t)halves[1] << 32;
		found += allocation_maybe(word[found]);
	}
	return found;
}

static unsigned words(uint64_t function, void *const *values, void *const *extra, uint64_t *word,
	unsigned room)
{
	struct thread_state *thread = thread_state();
	struct call_frame frame = { .thread = thread,
		.function = function,
		.values = values,
		.extra = extra };
	uintptr_t busy = thread->busy;
	unsigned count;

	/* The first use of a kernel writes a record. */
	thread->busy = STACK_PLACE;
	count = copy_words(launch_layout(&frame, (const uint64_t[]){ function, 0 }),
		&thread->tables->arguments, values, word, room);
	thread->busy = busy;
	return count;
}

static const struct guard_recorder recorder = { watch, ticks, is_simulated, driver_symbol, words,
	frame_touched };

static int is_asked_for(void)
{
	const char *value = origin_setting("CUFENCE_GUARD_HOST");

	return value && *value && strcmp(value, "0");
}

static void write_text(struct thread_state *thread, const char *name, const char *value)
{
	property_write(thread, name, value, strlen(value));
}

void guarded_start(struct thread_state *thread)
{
	const char *obstacle = "its library is not loaded", *managed;

	if (!is_asked_for())
		return;
	if (&cufence_guard)
		obstacle = cufence_guard.start(&recorder);
	write_text(thread, "guard", obstacle ? obstacle : "on");
	if (obstacle)
		return;
	managed = cufence_guard.managed();
	write_text(thread, "guard.managed", managed ? managed : "on");
	shim.guard = &cufence_guard;
}

void guarded_finish(struct thread_state *thread)
{
	struct guard_count count[COUNT_LIMIT];
	unsigned n = shim.guard ? shim.guard->counts(count, COUNT_LIMIT) : 0;

	for (unsigned i = 0; i < n; i++) {
		char name[64], value[24];
		struct joined named = { name, sizeof(name), 0 };
		struct joined number = { value, sizeof(value), 0 };

		join(&named, "guard.");
		join(&named, count[i].name);
		join_number(&number, count[i].count);
		if (count[i].count)
			write_text(thread, name, value);
	}
}

void guarded_child(void)
{
	if (shim.guard)
		shim.guard->child();
	shim.guard = NULL;
}

COLD void guarded_called(const struct call_frame *frame, enum call_kind kind, unsigned traits,
	const uint64_t *field)
{
	const struct call_type *type = &call_types[frame->call];
	struct guard_call call = { .kind = kind,
		.per_thread = frame->flags & CALL_PER_THREAD,
		.capturing = window_captures() > 0,
		.context = frame->context,
		.enter = frame->enter,
		.function = frame->function,
		.values = frame->values,
		.extra = frame->extra };

	if (holding_changed(frame->call))
		return;
	for (unsigned i = 0; i < type->field_count; i++)
		call.field[type->field[i]] = field[i];
	/* Copies without a device operand may be done by the processor. */
	call.by_device = (traits & (TRAIT_H2D | TRAIT_D2H)) || call.field[FIELD_dst_array] ||
		call.field[FIELD_src_array] ||
		(allocation_maybe(call.field[FIELD_dst]) &&
			allocation_maybe(call.field[FIELD_src]));
	shim.guard->called(&call);
}
