/* SPDX-License-Identifier: Apache-2.0 */
/* Recording windows of a process that was not recorded continuously. */
#include "load_accept.h"

#include <stdlib.h>

#include "memory.h"

static const char *const causes[] = {
	[WINDOW_START] = "start",
	[WINDOW_DELAY] = "delay",
	[WINDOW_DURATION] = "duration",
	[WINDOW_PROFILER] = "profiler",
	[WINDOW_RANGE] = "range",
	[WINDOW_SIZE] = "size",
	[WINDOW_CONTROL] = "request",
	[WINDOW_TURNS] = "turns",
	[WINDOW_SAMPLE] = "sample",
	[WINDOW_RING] = "ring",
};

static const char *cause_name(unsigned cause)
{
	return cause < sizeof(causes) / sizeof(*causes) ? causes[cause] : "unknown";
}

void loader_find_since(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	const struct record *record;

	while (trace_next(&p->reader, &record)) {
		const struct window_record *window = (const struct window_record *)record;

		if (record->type == RECORD_WINDOW && window->open &&
			(window->cause == WINDOW_RING ||
				(loader->last_window && window->cause == WINDOW_CONTROL) ||
				(loader->last_window > 1 && window->cause == WINDOW_SAMPLE)) &&
			window->ticks > p->since.ticks) {
			p->since.ticks = window->ticks;
			p->since_cause = window->cause;
		}
	}
	trace_rewind(&p->reader);
	if (!p->since.ticks)
		return;
	p->since.is_work = xcalloc(CALL_NUMBERS, 1);
	while (trace_next(&p->reader, &record))
		since_note(&p->since, record);
	trace_rewind(&p->reader);
}

static int by_ticks(const void *a, const void *b)
{
	const struct window_record *x = *(const struct window_record *const *)a;
	const struct window_record *y = *(const struct window_record *const *)b;

	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* No work of the process was recorded: stores which condition was not met. */
static int note_nothing(struct loader *loader, unsigned cause)
{
	switch (cause) {
	case WINDOW_DELAY:
		return loader_insert_loss(loader, "ended_before_delay", 1);
	case WINDOW_PROFILER:
		return loader_insert_loss(loader, "no_profiler_start", 1);
	case WINDOW_RANGE:
		return loader_insert_loss(loader, "no_range", 1);
	case WINDOW_CONTROL:
		return loader_insert_loss(loader, "not_started", 1);
	case WINDOW_SAMPLE:
		return loader_insert_loss(loader, "no_sample", 1);
	default:
		return 0;
	}
}

int loader_write_recording(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	int full = 0, opened = 0;
	size_t kept = 0;

	for (size_t i = 0; i < p->window_count; i++)
		if (loader_accept_window(loader, p->window[i]))
			p->window[kept++] = p->window[i];
	p->window_count = kept;
	if (!kept)
		return 0;
	qsort(p->window, p->window_count, sizeof(struct window_record *), by_ticks);
	if (p->since.ticks &&
		db_add(loader->db,
			ROW(recording, loader->process, p->start < 0 ? 0 : p->start,
				clock_host_ns(&p->clock, p->since.ticks), 0,
				cell_text(cause_name(p->since_cause)))))
		return -1;
	for (size_t i = 0; i < p->window_count; i++) {
		const struct window_record *window = p->window[i];
		int64_t start = clock_host_ns(&p->clock, window->ticks);
		int64_t end = i + 1 < p->window_count
			? clock_host_ns(&p->clock, p->window[i + 1]->ticks)
			: p->end;

		if (db_add(loader->db,
			    ROW(recording, loader->process, start, end > start ? end : start,
				    !!window->open, cell_text(cause_name(window->cause)))))
			return -1;
		opened |= window->open;
		full |= !window->open && window->cause == WINDOW_SIZE;
	}
	if (full && loader_insert_loss(loader, "size_reached", 1))
		return -1;
	return opened ? 0 : note_nothing(loader, p->window[0]->cause);
}
