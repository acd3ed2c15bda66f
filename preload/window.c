/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include <errno.h>

#include "collector.h"
#include "origin.h"
#include "settings.h"

#define BIT(cause) (1u << (cause))

static struct {
	_Atomic uint32_t reasons;  /* BIT() of each reason to be outside; 0: inside */
	_Atomic int cause;         /* of the last change */
	_Atomic int lock;          /* a thread is updating shim.outside from reasons */
	_Atomic int profiler;      /* between cuProfilerStart and Stop */
	_Atomic int ranges;        /* open ranges named CUFENCE_NVTX */
	_Atomic int captures;      /* in progress */
	_Atomic uint32_t opened;   /* number of windows so far */
	int by_profiler, by_range; /* settings */
	int limited;               /* any setting */
	uint64_t opens;            /* end of the delay, ticks; 0: none */
	_Atomic uint64_t until;    /* end of the duration, ticks; 0: not begun */
	uint64_t duration;         /* ticks, 0: no limit */
	uint64_t soft_limit;       /* bytes of the trace, 0: no limit */
} window;

static int is_set(const char *name)
{
	const char *value = origin_setting(name);

	return value && *value;
}

/* Converts seconds to ticks, 0: none. */
static uint64_t ticks_of(const char *name)
{
	const char *value = origin_setting(name);
	uint64_t ns;

	return value && setting_seconds(value, &ns)
		? (uint64_t)((double)ns * 1e-9 * (double)shim.calibration_ticks)
		: 0;
}

static uint64_t bytes_of(const char *name)
{
	const char *value = origin_setting(name);
	uint64_t bytes;

	return value && setting_size(value, &bytes) ? bytes : 0;
}

void window_init(void)
{
	uint64_t delay = ticks_of("CUFENCE_DELAY"), now = clock_read();
	const char *profiler = origin_setting("CUFENCE_PROFILER");
	uint32_t reasons = 0;

	window.lock = 0;
	window.captures = 0;
	window.by_profiler = profiler && *profiler && *profiler != '0';
	window.by_range = is_set("CUFENCE_NVTX");
	window.opens = delay ? now + delay : 0;
	window.duration = ticks_of("CUFENCE_DURATION");
	window.until = 0;
	shim.writer.max_bytes = bytes_of("CUFENCE_MAX_SIZE");
	/*
	 * The last quarter is reserved for handles, and for pending CUPTI records of recorded
	 * calls.
	 */
	window.soft_limit = shim.writer.max_bytes - shim.writer.max_bytes / 4;
	if (window.by_range && window.ranges <= 0) {
		reasons |= BIT(WINDOW_RANGE);
		window.cause = WINDOW_RANGE;
	}
	if (window.by_profiler && !window.profiler) {
		reasons |= BIT(WINDOW_PROFILER);
		window.cause = WINDOW_PROFILER;
	}
	if (delay) {
		reasons |= BIT(WINDOW_DELAY);
		window.cause = WINDOW_DELAY;
	}
	window.reasons = reasons;
	window.limited = reasons || window.by_profiler || window.by_range || window.duration ||
		window.soft_limit;
	shim.outside = reasons != 0;
}

static void write_record(struct thread_state *thread, int open, int cause)
{
	struct window_record *record = thread_reserve(thread, sizeof(*record), RECORD_WINDOW);

	if (!record)
		return;
	record->open = (uint16_t)open;
	record->cause = (uint16_t)cause;
	record->ticks = clock_read();
	trace_commit(&thread->chunk);
}

static void begin_duration(void)
{
	if (window.duration && !window.until)
		window.until = clock_read() + window.duration;
}

void window_begin(struct thread_state *thread)
{
	if (!window.limited)
		return;
	write_record(thread, !shim.outside, shim.outside ? window.cause : WINDOW_START);
	if (!shim.outside)
		begin_duration();
	atomic_store(&shim.next_calibration, window_next(shim.next_calibration));
}

/*
 * CUPTI is enabled only once calls are recorded, and disabled before they no longer are: an
 * operation without its call would look like one that bypassed the recorder.  The relation of the
 * clocks changes between windows, so each window has its own calibrations.
 */
static void change(struct thread_state *thread, int outside)
{
	if (outside) {
		write_record(thread, 0, window.cause);
		collector_window(0);
		clock_calibrate(thread, 20);
		shim.outside = 1;
		shim_admit();
	} else {
		window.opened++;
		shim.outside = 0;
		shim_admit();
		collector_window(1);
		begin_duration();
		clock_calibrate(thread, 20);
		write_record(thread, 1, window.cause);
	}
}

static int agrees(void)
{
	return !window.reasons == !shim.outside;
}

/* A thread that finds the lock taken returns: the holder checks again. */
static void settle(struct thread_state *thread)
{
	while (!agrees() && !atomic_exchange(&window.lock, 1)) {
		if (!agrees())
			change(thread, window.reasons != 0);
		atomic_store(&window.lock, 0);
	}
}

static void set_reason(enum window_cause cause, int outside)
{
	uint32_t before = outside ? atomic_fetch_or(&window.reasons, BIT(cause))
				  : atomic_fetch_and(&window.reasons, ~BIT(cause));

	if (!(before & BIT(cause)) == !outside)
		return;
	/* The first reason closes the window, and the removal of the last one opens it. */
	if (!(before & ~BIT(cause)))
		window.cause = (int)cause;
}

/* Changes due to time alone. */
static void note_time(uint64_t now)
{
	if (window.reasons & BIT(WINDOW_DELAY) && now >= window.opens)
		set_reason(WINDOW_DELAY, 0);
	if (window.until && now >= window.until)
		set_reason(WINDOW_DURATION, 1);
}

void window_tick(struct thread_state *thread, uint64_t now)
{
	note_time(now);
	settle(thread);
}

uint64_t window_next(uint64_t limit)
{
	uint64_t until = window.until;

	return until && until < limit && !(window.reasons & BIT(WINDOW_DURATION)) ? until : limit;
}

void window_grown(void)
{
	const struct file_header *header = shim.writer.header;

	if (!window.soft_limit || !header || window.reasons & BIT(WINDOW_SIZE) ||
		(uint64_t)header->chunk_count * header->chunk_size < window.soft_limit)
		return;
	set_reason(WINDOW_SIZE, 1);
	/* CUPTI's thread may not disable CUPTI: the next call does. */
	atomic_store(&shim.next_calibration, 0);
}

int window_admits(struct thread_state *thread, enum call_kind kind)
{
	int saved = errno;

	thread->busy = STACK_PLACE;
	if (window.reasons & BIT(WINDOW_DELAY))
		window_tick(thread, clock_read());
	else
		settle(thread);
	thread->busy = 0;
	errno = saved;
	if (!shim.outside || window.captures > 0 || !kind_has(kind, K_WINDOWED))
		return 1;
	thread->passed_by = window.opened + 1;
	return 0;
}

int window_bypassed(struct thread_state *thread)
{
	if (!thread->passed_by || thread->passed_by != window.opened)
		return 1;
	thread->passed_by = 0;
	return 0;
}

/* Now if possible, else at the next call; a process not yet recorded starts with it. */
static void decide(enum window_cause cause, int outside)
{
	struct thread_state *thread = thread_state();
	int saved = errno;

	if (shim.stage != SHIM_ON || !*shim.alive)
		return;
	note_time(clock_read());
	set_reason(cause, outside);
	if (thread->busy)
		return;
	thread->busy = STACK_PLACE;
	settle(thread);
	thread->busy = 0;
	errno = saved;
}

void window_profiler(int on)
{
	window.profiler = on;
	if (window.by_profiler)
		decide(WINDOW_PROFILER, !on);
}

void window_range(const char *name, int begin)
{
	int ranges = atomic_fetch_add(&window.ranges, begin ? 1 : -1) + (begin ? 1 : -1);

	if (window.by_range)
		decide(WINDOW_RANGE, ranges <= 0);
}

int window_captures(void)
{
	return window.captures;
}

void window_capture(int begin)
{
	if (begin)
		window.captures++;
	else if (window.captures > 0)
		window.captures--;
}
