/* SPDX-License-Identifier: Apache-2.0 */
/* One trace, of one process. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "large.h"
#include "layout.h"
#include "load_accept.h"
#include "loader.h"
#include "print.h"

static const char *clock_name(uint32_t clock)
{
	static const char *const names[] = {
		[CLOCK_TICKS_TSC] = "tsc",
		[CLOCK_TICKS_MONOTONIC] = "monotonic",
		[CLOCK_TICKS_VIRTUAL] = "virtual",
	};

	return clock < sizeof(names) / sizeof(*names) && names[clock] ? names[clock] : "unknown";
}

static const char *cupti_name(uint32_t state)
{
	static const char *const names[] = {
		[CUPTI_STATE_NEVER] = "never",
		[CUPTI_STATE_ON] = "on",
		[CUPTI_STATE_OFF] = "off",
		[CUPTI_STATE_ABSENT] = "absent",
		[CUPTI_STATE_BUSY] = "busy",
		[CUPTI_STATE_FAILED] = "failed",
	};

	return state < sizeof(names) / sizeof(*names) ? names[state] : "unknown";
}

static int insert_process(struct loader *loader)
{
	const struct file_header *header = loader->p.reader.header;
	int simulated = header->features & FEATURE_SIMULATED ? 1 : 0;
	int64_t start = loader->p.start;

	return db_add(loader->db,
		ROW(process, loader->process, header->pid, header->parent_pid, start,
			loader->p.end > start ? loader->p.end : start, !!header->closed, simulated,
			cell_text(clock_name(header->clock)), loader->p.clock.error,
			cell_text(cupti_name(header->cupti_state)), header->cupti_error,
			header->cupti_version, header->driver_version, cell_text(loader->path)));
}

int loader_insert_loss(struct loader *loader, const char *reason, uint64_t count)
{
	if (!count)
		return 0;
	return db_add(loader->db, ROW(loss, loader->process, cell_text(reason), count));
}

/* Records damage found by the reader, and the reason if the trace was not closed. */
static int insert_damage(struct loader *loader)
{
	const struct trace_reader *reader = &loader->p.reader;
	uint64_t missing = reader->missing ? reader->missing : (uint64_t)reader->pages.lost;
	int running = !reader->header->closed && loader_is_running(loader);
	/* Nothing is missing of a window that is over. */
	int rests = reader->header->control.state == CONTROL_PAUSED ||
		reader->header->control.state == CONTROL_OVER;

	return loader_insert_loss(loader, "truncated", missing) ||
		loader_insert_loss(loader, "damaged",
			reader->damaged + loader->p.refused + loader->p.clock.refused) ||
		loader_insert_loss(loader, "still_running", running && !rests) ||
		loader_insert_loss(loader, "not_closed", !reader->header->closed && !running);
}

/*
 * A run whose work failed says nothing about the program.  Work that was captured but not launched
 * has no operation either; of a process that was killed the last operations are unknown.
 */
static int insert_failure(struct loader *loader)
{
	const struct file_header *header = loader->p.reader.header;
	uint64_t failed = loader->p.refused_work, submitted = loader->p.submitted;
	int most = failed > submitted - failed;
	int watched = header->cupti_state == CUPTI_STATE_ON && header->closed;

	return loader_insert_loss(loader, "work_failed", most ? failed : 0) ||
		loader_insert_loss(loader, "some_failed", most ? 0 : failed) ||
		loader_insert_loss(loader, "nothing_ran",
			!most && watched && !loader->p.operations && !loader->p.graphs ? submitted
										       : 0);
}

/* Calls that were counted only tell nothing, and neither do empty windows: they are no loss. */
static int insert_number(struct loader *loader, enum trace_counter counter)
{
	uint64_t count = loader->p.reader.header->counter[counter];
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	return count ? db_add(loader->db,
			       ROW(property, loader->process, cell_text(counter_names[counter]),
				       cell_text(text)))
		     : 0;
}

static int insert_losses(struct loader *loader)
{
	const struct file_header *header = loader->p.reader.header;
	int unusable = loader->p.call_count &&
		(loader->p.init == INIT_FAILED ||
			(header->cupti_state == CUPTI_STATE_NEVER && !loader->p.context_count));
	int host_only = header->cupti_state != CUPTI_STATE_ON && loader->p.call_count && !unusable;

	for (unsigned i = 0; i < COUNT_QUICK_QUERIES; i++)
		if (loader_insert_loss(loader, counter_names[i], header->counter[i]))
			return -1;
	return insert_number(loader, COUNT_QUICK_QUERIES) ||
		insert_number(loader, COUNT_EMPTY_WINDOWS) ||
		insert_number(loader, COUNT_TURN_WINDOWS) || insert_damage(loader) ||
		insert_failure(loader) || loader_insert_loss(loader, "unusable", unusable) ||
		loader_insert_loss(loader, loader->p.shaken ? "shaken" : "host_only", host_only) ||
		loader_insert_loss(loader, "older_graphs", header->counter[COUNT_OLDER_GRAPHS]) ||
		loader_insert_loss(loader, "aliases_left_out", loader_twins_left_out(&loader->p)) ||
		loader_insert_loss(loader, "clock_estimated", loader->p.clock.estimated) ||
		loader_insert_loss(loader, "late_ends", loader->p.late_ends) ||
		loader_insert_loss(loader, "lost_times", loader->p.lost_times);
}

static int insert_contexts(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->context_count; i++) {
		const struct context_record *context = &p->context[i].record;
		p->context[i].row = (uint32_t)++loader->context;
		if (db_add(loader->db,
			    ROW(context, loader->context, loader->process, context->id,
				    context->handle, context->cupti_id, context->device,
				    context->flags, 0)))
			return -1;
	}
	return 0;
}

static void release_process(struct loaded_process *p)
{
	struct map *maps[] = { &p->context_numbers, &p->context_handles, &p->context_cupti_ids,
		&p->threads, &p->open_host_runs, &p->host_calls, &p->births, &p->primaries,
		&p->sites, &p->latest_functions, &p->kernels, &p->layouts, &p->words, &p->shapes,
		&p->strings, &p->thread_lanes, &p->default_streams, &p->cupti_streams,
		&p->impossible, &p->variables, &p->mapped, &p->mapped_at, &p->known_by,
		&p->known_at, &p->known_first, &p->opened, &p->levels, &p->level_numbers };

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	lives_release(&p->streams);
	lives_release(&p->events);
	lives_release(&p->allocations);
	ranges_release(&p->reserved);
	loader_release_twins(p);
	lives_release(&p->functions);
	free(p->unplaced);
	ranges_release(&p->live_memory);
	clock_release(&p->clock);
	free(p->type);
	for (size_t i = 0; i < p->lane_count; i++)
		lane_release(&p->lane[i]);
	free(p->lane);
	free(p->heap);
	sparse_words_release(&p->device);
	sparse_words_release(&p->overlaps);
	free(p->more_device);
	free(p->taken);
	free(p->calibration);
	free(p->window);
	free(p->since.is_work);
	free(p->host_run);
	free(p->usage);
	free(p->rank_properties);
	free(p->context);
	for (size_t i = 0; i < p->thread_count; i++)
		large_free(p->thread[i].call);
	free(p->thread);
	free(p->stream);
	free(p->open_range);
	loader_release_graphs(p);
	loader_release_images(p);
	loader_release_collectives(p);
	free(p->named);
	trace_close(&p->reader);
	*p = (struct loaded_process){ 0 };
}

void loader_look_up(struct loader *loader)
{
	struct loader *whole = loader->whole;

	trace_forget(&loader->p.reader);
	db_lock(whole->db);
	whole->progress.done += loader->read - loader->shown;
	progress_show(&whole->progress, "loading");
	db_unlock(whole->db);
	loader->shown = loader->read;
}

static int load_call(struct loader *loader, struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	const struct call_record *record = (const struct call_record *)call->record;
	uint32_t correlation = call->returned ? record->correlation : 0;

	p->taken_count = 0;
	if (correlation)
		loader_take_devices(loader, correlation);
	if (loader_resolve(loader, call) || loader_match_devices(loader, call) ||
		loader_write_operands(loader, call) || loader_write_launch(loader, call) ||
		loader_write_call(loader, call))
		return -1;
	for (size_t i = 0; i < p->taken_count; i++)
		if (loader_write_device(loader, p->taken[i], call))
			return -1;
	loader_take_collective(loader, call);
	return loader_take_host(loader, call) || loader_write_objects(loader, call) ||
			loader_take_textures(loader, call) || loader_take_graphs(loader, call) ||
			loader_take_images(loader, call) || lives_retire(&p->events, call->enter) ||
			lives_retire(&p->allocations, call->enter)
		? -1
		: 0;
}

static int load_calls(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	struct loaded_call call;
	int rc;

	p->events.retire = loader_write_event;
	p->allocations.retire = loader_write_allocation;
	p->events.arg = p->allocations.arg = loader;
	if (loader_start_calls(loader))
		return -1;
	while ((rc = loader_next_call(loader, &call)) > 0) {
		loader_step(loader, record_bytes(call.record));
		if (load_call(loader, &call))
			return -1;
	}
	return rc || loader_write_images(loader) || loader_write_collectives(loader) ||
			loader_write_rest(loader)
		? -1
		: 0;
}

/* An impossible start time counts as unknown, like a missing one. */
static int64_t start_of(struct loader *loader)
{
	uint64_t start = loader->p.reader.header->start_ns;

	if (start >= (uint64_t)loader->origin &&
		start - (uint64_t)loader->origin <= (uint64_t)CLOCK_MOST)
		return (int64_t)(start - (uint64_t)loader->origin);
	loader->p.refused++;
	return 0;
}

int loader_load_process(struct loader *loader, const char *path)
{
	struct loaded_process *p = &loader->p;
	int rc = -1;

	loader->path = path;
	loader->process++;
	if (trace_open(&p->reader, path)) {
		print(stderr, "cufence: cannot load '%s': %s\n", path, p->reader.error);
		goto out;
	}
	if (loader_scan(loader))
		goto out;
	p->start = start_of(loader);
	clock_init(&p->clock, p->reader.header->clock, loader->origin, p->start, p->calibration,
		p->calibration_count, p->first_tick == UINT64_MAX ? 0 : p->first_tick);
	loader_sort_devices(loader);
	if (loader_judge_times(loader) || insert_contexts(loader) || load_calls(loader))
		goto out;
	rc = insert_process(loader) || loader_insert_rank(loader) ||
			loader_write_recording(loader) || insert_losses(loader)
		? -1
		: 0;
	memcpy(loader->damage, p->reader.error, sizeof(loader->damage));
out:
	release_process(p);
	return rc;
}
