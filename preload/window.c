/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include <errno.h>
#include <string.h>

#include "collector.h"
#include "control.h"
#include "lives.h"
#include "origin.h"
#include "settings.h"
#include "turns.h"
#include "usage.h"

#define BIT WINDOW_BIT
#define CONTROL_RATE 128 /* how often a second a recording process reads requests */

struct window_now window_now;

static struct {
	_Atomic int cause;         /* of the last change */
	_Atomic int lock;          /* a thread is updating window_now.outside from reasons */
	_Atomic int profiler;      /* between cuProfilerStart and Stop */
	_Atomic int ranges;        /* open ranges named CUFENCE_NVTX */
	_Atomic uint64_t turn;     /* ranges that ended inside */
	_Atomic uint32_t opened;   /* number of windows so far */
	_Atomic uint32_t graphs;   /* executables that were made so far */
	int by_profiler, by_range; /* settings */
	int in_session;            /* who may start it again */
	uint64_t turns;            /* of the range, 0: no limit */
	uint64_t begun;            /* first record, ticks */
	int limited;               /* any setting */
	uint64_t opens;            /* end of the delay, ticks; 0: none */
	_Atomic uint64_t until;    /* end of the duration, ticks; 0: not begun */
	_Atomic uint64_t sample;   /* end of the sample in progress, ticks; 0: none */
	uint64_t opening;          /* ticks that CUPTI took to be opened for the request, 0: none */
	_Atomic uint32_t resting;  /* a request that is answered when CUPTI is closed, 0: none */
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

static uint64_t number_of(const char *name)
{
	const char *value = origin_setting(name);
	uint64_t number;

	return value && setting_number(value, &number) ? number : 0;
}

static int is_on(const char *name)
{
	const char *value = origin_setting(name);

	return value && *value && *value != '0';
}

static int is_sampled(void)
{
	const char *value = origin_setting("CUFENCE_PAUSED");

	return value && !strcmp(value, "sample");
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
	uint32_t reasons = 0;

	window.lock = 0;
	window_now.captures = 0;
	window.opened = 0;
	window.turn = 0;
	window.graphs = 0;
	window.by_profiler = is_on("CUFENCE_PROFILER");
	window.by_range = is_set("CUFENCE_NVTX");
	window.opens = delay ? now + delay : 0;
	window.duration = ticks_of("CUFENCE_DURATION");
	window.turns = window.by_range ? number_of("CUFENCE_TURNS") : 0;
	window.in_session = is_set("CUFENCE_SESSION") || is_on("CUFENCE_PAUSED");
	window.until = 0;
	window.sample = 0;
	window.opening = 0;
	window.resting = 0;
	turns_init();
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
	control_init(is_on("CUFENCE_PAUSED"));
	if (is_on("CUFENCE_PAUSED")) {
		reasons |= BIT(WINDOW_CONTROL);
		window.cause = is_sampled() ? WINDOW_SAMPLE : WINDOW_CONTROL;
	}
	window_now.reasons = reasons;
	window.limited = reasons || window.by_profiler || window.by_range || window.duration ||
		window.soft_limit;
	window_now.outside = reasons != 0;
}

/* A snapshot may be taken now. */
static int is_resting(uint32_t reasons)
{
	return (reasons & (BIT(WINDOW_CONTROL) | BIT(WINDOW_DURATION) | BIT(WINDOW_TURNS))) != 0;
}

/* No more work will be recorded. */
static int is_over(void)
{
	return (window_now.reasons & (BIT(WINDOW_DURATION) | BIT(WINDOW_TURNS))) != 0;
}

static void show_state(void)
{
	uint32_t reasons = window_now.reasons;

	control_show(is_over()                          ? CONTROL_OVER
			: !window_now.outside           ? CONTROL_RECORDING
			: reasons & BIT(WINDOW_CONTROL) ? CONTROL_PAUSED
							: CONTROL_WAITING,
		window.opened + (window.limited ? 0 : 1));
}

static void write_record(struct thread_state *thread, int open, int cause, uint64_t ticks)
{
	struct window_record *record = thread_reserve(thread, sizeof(*record), RECORD_WINDOW);

	if (!record)
		return;
	record->open = (uint16_t)open;
	record->cause = (uint16_t)cause;
	record->ticks = ticks;
	trace_commit(&thread->chunk);
}

static void begin_duration(void)
{
	if (window.duration && !window.until)
		window.until = clock_read() + window.duration;
}

void window_begin(struct thread_state *thread)
{
	window.begun = clock_read();
	if (window.limited) {
		write_record(thread, !window_now.outside,
			window_now.outside ? window.cause : WINDOW_START, window.begun);
		if (!window_now.outside) {
			window.opened++;
			begin_duration();
		}
		atomic_store(&shim.next_tick, window_next(window.begun, shim.next_tick));
	}
	show_state();
}

/*
 * CUPTI is enabled before calls are recorded (before that, where it was a request: opens_apart()),
 * as opening it takes 10 ms in which they would have no operations, and disabled, or closed later,
 * before they no longer are: an operation without its call would look like one that bypassed the
 * recorder.  The relation of the clocks changes between windows, so each window has its own
 * calibrations.
 */
static void change(struct thread_state *thread, int outside)
{
	/* The first stop of a process that nothing limited. */
	if (!window.limited) {
		write_record(thread, 1, WINDOW_START, window.begun);
		window.limited = 1;
		window.opened++;
	}
	if (outside) {
		write_record(thread, 0, window.cause, clock_read());
		collector_window(0);
		clock_calibrate(thread, 20);
		/* A snapshot needs to know what was loaded, as the end of a process tells. */
		if (is_resting(window_now.reasons) && !usage_is_filtered())
			module_note_all(thread);
		window_now.outside = 1;
		shim_admit();
	} else {
		uint64_t begun;

		/* What others submit meanwhile is not recorded, and its operations are dropped. */
		collector_window(1);
		window.opened++;
		begun = clock_read(); /* calls of other threads are recorded from here on */
		window_now.outside = 0;
		shim_admit();
		begin_duration();
		clock_calibrate(thread, 20);
		write_record(thread, 1, window.cause, begun);
	}
}

static int agrees(void)
{
	return !window_now.reasons == !window_now.outside;
}

static void set_reason(enum window_cause cause, int outside)
{
	uint32_t before = outside ? atomic_fetch_or(&window_now.reasons, BIT(cause))
				  : atomic_fetch_and(&window_now.reasons, ~BIT(cause));

	if (!(before & BIT(cause)) == !outside)
		return;
	/* The first reason closes the window, and the removal of the last one opens it. */
	if (!(before & ~BIT(cause)))
		window.cause = window.sample ? WINDOW_SAMPLE : (int)cause;
}

/*
 * A sample of turns begins with the next range, and has no end in time.  CUPTI slows calls from its
 * opening on, so that is part of any other sample's length, up to half of it.
 */
static void begin_sample(uint32_t us)
{
	uint64_t length = (uint64_t)((double)us * 1e-6 * (double)shim.calibration_ticks);

	length -= window.opening < length / 2 ? window.opening : length / 2;
	window.sample = clock_read() + turns_begin(length);
	if (!window.turns)
		return;
	window.sample = UINT64_MAX;
	window.turn = 0;
	set_reason(WINDOW_RANGE, 1);
}

/* Any request ends a sample in progress. */
static void follow_wish(void)
{
	uint32_t wish = __atomic_load_n(&control_page()->wish, __ATOMIC_ACQUIRE);

	while (wish > CONTROL_PAUSE &&
		!__atomic_compare_exchange_n(&control_page()->wish, &wish, CONTROL_PAUSE, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	window.sample = 0;
	if (wish > CONTROL_PAUSE)
		begin_sample(wish);
	else
		turns_begin(0);
	window.opening = 0;
	set_reason(WINDOW_CONTROL, wish == CONTROL_PAUSE);
}

static void end_sample(void)
{
	set_reason(WINDOW_CONTROL, 1);
	window.sample = 0;
}

/*
 * Opening CUPTI takes up to 22 ms.  Who finds a request that opens a window goes on unrecorded
 * while the recorder's thread does that, with the lock, which this returns 1 for.  Until
 * window_release() calls pass as if the request were answered, and the next one follows it.
 */
static int opens_apart(void)
{
	uint32_t *wish = &control_page()->wish;
	uint32_t found = __atomic_load_n(wish, __ATOMIC_ACQUIRE);

	if (found == CONTROL_PAUSE || window_now.reasons != BIT(WINDOW_CONTROL) ||
		!collector_waits())
		return 0;
	if (found > CONTROL_PAUSE)
		__atomic_compare_exchange_n(wish, &found, found | CONTROL_FOUND, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	__atomic_store_n(&window_now.answered, control_asked(), __ATOMIC_RELAXED);
	return collector_open();
}

/* Whether there is a request to be followed now. */
static int is_asked(void)
{
	return control_is_asked() && control_asked() != window.resting && !turns_awaited();
}

/*
 * A thread that finds the lock taken returns: the holder checks again.  Who asks wants what CUPTI
 * holds, too: after a window, what was in progress at its end.
 */
static void settle(struct thread_state *thread)
{
	while ((!agrees() || is_asked()) && !atomic_exchange(&window.lock, 1)) {
		uint32_t asked = control_asked();
		int answers = is_asked();

		if (answers && opens_apart())
			return;
		if (answers)
			follow_wish();
		if (!agrees()) {
			change(thread, window_now.reasons != 0);
		} else if (answers) {
			/* CUPTI may have been opened for a window that was withdrawn. */
			if (window_is_paused())
				collector_window(0);
			collector_flush(0);
			clock_calibrate(thread, 20);
		}
		lives_write_all(thread);
		show_state();
		if (answers && collector_rests())
			window.resting = asked;
		else if (answers)
			control_answer(asked);
		atomic_store(&window.lock, 0);
	}
}

/* Changes due to time alone. */
static void note_time(uint64_t now)
{
	if (window_now.reasons & BIT(WINDOW_DELAY) && now >= window.opens)
		set_reason(WINDOW_DELAY, 0);
	if (window.until && now >= window.until)
		set_reason(WINDOW_DURATION, 1);
	if (window.sample && now >= window.sample)
		end_sample();
}

void window_tick(struct thread_state *thread, uint64_t now)
{
	note_time(now);
	settle(thread);
}

uint64_t window_next(uint64_t now, uint64_t limit)
{
	uint64_t until = window.until, next = now + shim.calibration_ticks / CONTROL_RATE;
	uint64_t sample = window.sample;

	if (until && until < next && !(window_now.reasons & BIT(WINDOW_DURATION)))
		next = until;
	if (sample && sample < next)
		next = sample;
	return next < limit ? next : limit;
}

void window_grown(void)
{
	const struct file_header *header = shim.writer.header;

	if (!window.soft_limit || !header || window_now.reasons & BIT(WINDOW_SIZE) ||
		(uint64_t)header->chunk_count * header->chunk_size < window.soft_limit)
		return;
	set_reason(WINDOW_SIZE, 1);
	/* CUPTI's thread may not disable CUPTI: the next call does. */
	atomic_store(&shim.next_tick, 0);
}

int window_turned(const struct call_frame *frame)
{
	struct thread_state *thread = frame->thread;
	int saved = errno, ended = !(frame->flags & CALL_NESTED) && turns_ended(thread);

	if (ended) {
		end_sample();
		settle(thread);
		thread->depth = 0;
		thread->correlation = frame->outer_correlation;
		thread->busy = 0;
	}
	errno = saved;
	return ended;
}

int window_admits(struct thread_state *thread, enum call_kind kind, uintptr_t frame)
{
	int saved = errno;

	thread->busy = STACK_PLACE;
	if (window_now.reasons & BIT(WINDOW_DELAY))
		window_tick(thread, clock_read());
	else
		settle(thread);
	if (control_is_asked() && turns_awaited() && turns_arrive(thread, frame))
		settle(thread);
	thread->busy = 0;
	errno = saved;
	if (!window_now.outside)
		return 1;
	if (is_over() && !window.in_session)
		return 0;
	return window_now.captures > 0 || !kind_has(kind, K_WINDOWED);
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

	if (!window.by_range)
		return;
	/* A number of turns is one window, with what is between them. */
	if (window.turns && ranges <= 0 && !window_now.outside && shim.stage == SHIM_ON) {
		if (++window.turn >= window.turns) {
			decide(window.sample ? WINDOW_CONTROL : WINDOW_TURNS, 1);
			window.sample = 0;
		}
	} else
		decide(WINDOW_RANGE, ranges <= 0);
}

int window_captures(void)
{
	return window_now.captures;
}

void window_capture(int begin)
{
	if (begin)
		window_now.captures++;
	else if (window_now.captures > 0)
		window_now.captures--;
}

int window_is_paused(void)
{
	return window_now.outside && window_now.reasons & BIT(WINDOW_CONTROL);
}

void window_choose_chunk(struct thread_state *thread)
{
	int paused = window_is_paused();

	if (paused && !lives_has(thread) && !thread->depth)
		lives_enter(thread);
	else if (!paused && lives_has(thread))
		lives_leave(thread);
}

void window_graph(void)
{
	window.graphs++;
	collector_graph();
}

uint32_t window_graphs(void)
{
	return window.graphs;
}

void window_rested(void)
{
	uint32_t asked = atomic_exchange(&window.resting, 0);

	if (asked && (int32_t)(asked - control_page()->answered) > 0)
		control_answer(asked);
}

void window_opened(uint64_t ticks)
{
	window.opening = ticks;
}

int window_hold(void)
{
	return !atomic_exchange(&window.lock, 1);
}

void window_release(void)
{
	__atomic_store_n(&window_now.answered, control_page()->answered, __ATOMIC_RELAXED);
	atomic_store(&window.lock, 0);
}
