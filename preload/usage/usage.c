/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hot.h"
#include "join.h"
#include "resolve.h"
#include "system.h"

/* Runs before anything is initialized, in every program: must not be instrumented. */
#define EARLY __attribute__((no_sanitize("address", "undefined")))

_Static_assert(offsetof(struct thread_state, armed) == 64, "ARMED of machine/export.h");

#define GAP_US 20
/* How often a second it is asked at most where the first thread is, asleep or not. */
#define ASLEEP_RATE 100
#define AWAKE_RATE 1000
/* Readers of CUDA's own or of a lock may come first: the analyzer looks at a few. */
#define CLOCKS_MOST 4

/* The functions after those that machine/ exports, in its order. */
static const char *const names[] = { "clock_gettime", "gettimeofday", "time", "clock",
	"timespec_get", "prctl" };
#define NAMES (sizeof(names) / sizeof(names[0]))
extern void *clock_reals[NAMES] __attribute__((visibility("hidden")));
void *clock_find(unsigned number);
void clock_noticed(void *frame_address);

/* 1: the program may have a seccomp filter since it began to record (machine/). */
extern int usage_forbidden __attribute__((visibility("hidden")));
int usage_forbidden;

static struct {
	int off;         /* not read in this process */
	int filtered;    /* a seccomp filter was there when it began to record */
	uint64_t recent; /* ticks of GAP_US */
	_Atomic uint64_t
		asks; /* ticks at which a host function may ask where the first thread is */
} usage;

EARLY static long missing(void)
{
	return -1;
}

EARLY void *clock_find(unsigned number)
{
	void *found = resolve_real_dlsym()(RTLD_NEXT, names[number]);

	if (!found)
		found = (void *)missing;
	__atomic_store_n(&clock_reals[number], found, __ATOMIC_RELAXED);
	return found;
}

/* Not at the first call, which may be made by a signal handler that interrupted the loader. */
__attribute__((constructor)) static void find(void)
{
	for (unsigned i = 0; i < NAMES; i++)
		clock_find(i);
}

/* The number of seccomp filters of a process, by its status file; -1: unknown. */
static int seccomp_filters(const char *path)
{
	static const char mode[] = "\nSeccomp:\t", filters[] = "\nSeccomp_filters:\t";
	static char text[4096]; /* used only by the thread that starts the recorder */
	int fd = system_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : system_read(fd, text, sizeof(text) - 1);
	const char *at;

	if (fd >= 0)
		system_close(fd);
	text[n < 0 ? 0 : n] = '\0';
	at = strstr(text, mode);
	if (at && at[sizeof(mode) - 1] == '0')
		return 0;
	at = strstr(text, filters);
	return at ? atoi(at + sizeof(filters) - 1) : -1;
}

static int is_forbidden(void)
{
	int own = seccomp_filters("/proc/thread-self/status");
	char path[64];
	struct joined joined = { path, sizeof(path), 0 };

	if (!own)
		return 0;
	join(&joined, "/proc/");
	join_number(&joined, (uint32_t)getppid());
	join(&joined, "/status");
	return own < 0 || own > seccomp_filters(path);
}

int usage_is_filtered(void)
{
	return usage.filtered || usage_forbidden;
}

void usage_init(void)
{
	uint64_t ticks = shim.calibration_ticks * GAP_US / 1000000;

	usage.recent = ticks;
	usage.asks = 0;
	usage.filtered = is_forbidden();
	usage.off = shim.clock == CLOCK_TICKS_VIRTUAL || usage_is_filtered();
	shim.usage_ticks = usage.off || ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}

/* Nanoseconds of processor time of this thread, exactly. */
static uint64_t read_cpu(const struct rusage *use)
{
	struct timespec now;

	if (!syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now))
		return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return ((uint64_t)use->ru_utime.tv_sec + (uint64_t)use->ru_stime.tv_sec) * 1000000000u +
		((uint64_t)use->ru_utime.tv_usec + (uint64_t)use->ru_stime.tv_usec) * 1000u;
}

/*
 * getrusage() has the processor time as of the last switch or timer tick, up to 4 ms ago: it is
 * asked for the switches.  Without any since the last reading, the thread had its processor all the
 * time; else the exact time is asked for, too.  Kernels that do not count switches say 0.
 */
COLD uint64_t usage_read(struct thread_state *thread, uint64_t now)
{
	int saved = errno;
	struct usage_record *record;
	uint32_t switches[2];
	struct rusage use;

	if (usage.off || usage_forbidden)
		return now;
	if (syscall(SYS_getrusage, RUSAGE_THREAD, &use)) {
		usage.off = 1;
		errno = saved;
		return now;
	}
	switches[0] = (uint32_t)use.ru_nvcsw;
	switches[1] = (uint32_t)use.ru_nivcsw;
	record = thread_reserve(thread, sizeof(*record), RECORD_USAGE);
	if (record) {
		int stayed = thread->seen && (switches[0] || switches[1]) &&
			!memcmp(switches, thread->switches, sizeof(switches));

		record->head.flags = stayed ? USAGE_STAYED : 0;
		record->ticks = now;
		record->cpu_ns = stayed ? 0 : read_cpu(&use);
		record->voluntary = switches[0];
		record->involuntary = switches[1];
		trace_commit(&thread->chunk);
		memcpy(thread->switches, switches, sizeof(switches));
	}
	errno = saved;
	return clock_read();
}

/* By its state in "pid (name) state ...", in which a name may have parentheses. */
static int first_thread_sleeps(void)
{
	char text[512], *end;
	struct joined path = { text, sizeof(text), 0 };
	ssize_t n;
	int fd;

	join(&path, "/proc/self/task/");
	join_number(&path, shim.writer.header->pid);
	join(&path, "/stat");
	fd = system_open(text, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	n = system_read(fd, text, sizeof(text) - 1);
	system_close(fd);
	text[n < 0 ? 0 : n] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'S';
}

/* Returns 1 if it was asleep. */
COLD static int note_asleep(struct thread_state *thread, uint64_t now)
{
	struct usage_record *record;
	uint32_t site;

	if (usage_is_filtered() || !first_thread_sleeps())
		return 0;
	site = site_of_first_script(thread);
	record = site ? thread_reserve(thread, sizeof(*record), RECORD_USAGE) : NULL;
	if (record) {
		record->head.flags = USAGE_ASLEEP;
		record->ticks = now;
		record->site = site;
		trace_commit(&thread->chunk);
	}
	return 1;
}

uint64_t usage_host_function(struct thread_state *thread, uint64_t now)
{
	uint64_t next = usage.asks, second = shim.calibration_ticks;
	int saved = errno;

	/* Functions that run at the same time need not ask all. */
	if (!shim.scripts || now < next ||
		!atomic_compare_exchange_strong(&usage.asks, &next, now + second / AWAKE_RATE))
		return now;
	if (note_asleep(thread, now))
		usage.asks = now + second / ASLEEP_RATE;
	errno = saved;
	return clock_read();
}

static void write_clock(struct thread_state *thread, uint64_t now, uint32_t site)
{
	struct usage_record *record = thread_reserve(thread, sizeof(*record), RECORD_USAGE);

	if (!record)
		return;
	record->head.flags = USAGE_CLOCK;
	record->ticks = now;
	record->site = site;
	trace_commit(&thread->chunk);
}

/* A signal handler's own stack has room for what the program does in it, and little more. */
static int is_on_handlers_stack(void)
{
	stack_t handlers;

	return syscall(SYS_sigaltstack, NULL, &handlers) || handlers.ss_flags & SS_ONSTACK;
}

/*
 * This thread is armed and reads a clock; frame_address is that of the function that it called. The
 * recorder reads clocks, too, and a child of vfork() has its parent's memory.
 */
void clock_noticed(void *frame_address)
{
	struct thread_state *thread = thread_state();
	uint32_t left = thread->armed;
	int saved = errno;
	uint64_t now;

	if (thread->busy || site_is_own(caller_of(frame_address)))
		return;
	thread->armed = 0;
	if (thread->depth || !thread_is_ready(thread) || is_on_handlers_stack() ||
		shim.writer.header->pid != (uint32_t)syscall(SYS_getpid)) {
		errno = saved;
		return;
	}
	thread->busy = (uintptr_t)frame_address;
	now = clock_read();
	if (now - thread->seen <= usage.recent) {
		write_clock(thread, now, site_find(thread, frame_address));
		thread->armed = left > CLOCKS_MOST ? CLOCKS_MOST - 1 : left - 1;
	}
	thread->busy = 0;
	errno = saved;
}
