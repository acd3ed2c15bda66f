/* SPDX-License-Identifier: Apache-2.0 */
/* Recording windows of a process that was not recorded continuously. */
#include "load_accept.h"

#include <stdlib.h>

static const char *const causes[] = {
	[WINDOW_START] = "start",
	[WINDOW_DELAY] = "delay",
	[WINDOW_DURATION] = "duration",
	[WINDOW_PROFILER] = "profiler",
	[WINDOW_RANGE] = "range",
	[WINDOW_SIZE] = "size",
};

static const char *cause_name(unsigned cause)
{
	return cause < sizeof(causes) / sizeof(*causes) ? causes[cause] : "unknown";
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
