/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

#define PERIOD_MS 500
#define LAST_LOOK_MS 100
/* More entries than that are left out. */
#define ENTRIES 512

/* The process that asks. */
struct asker {
	struct watched *watched;
	struct nvml *nvml;
	pid_t program;
	const char *folder;
};

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/*
 * Daemons have another parent in the end, but a trace of this run, or the folder's name in their
 * environment.
 */
static int is_own(const struct asker *asker, unsigned pid)
{
	char *trace = NULL, *setting = NULL;
	int own = process_descends(pid, asker->program);

	if (!own && asprintf(&trace, "%s/cufence.%u.cft", asker->folder, pid) >= 0) {
		own = !access(trace, F_OK);
		free(trace);
	}
	if (!own && asprintf(&setting, "CUFENCE_OUT=%s", asker->folder) >= 0) {
		own = process_has_bytes(pid, "environ", setting, strlen(setting) + 1);
		free(setting);
	}
	return own;
}

/* Returns NULL if there are too many. */
static struct watched_process *process_of(const struct asker *asker, struct watched_gpu *gpu,
	unsigned pid)
{
	struct watched_process *process;

	for (unsigned i = 0; i < gpu->count; i++)
		if (gpu->process[i].pid == pid)
			return &gpu->process[i];
	if (gpu->count == WATCH_PROCESSES)
		return NULL;
	process = &gpu->process[gpu->count];
	process->pid = pid;
	process->visible = (int8_t)process_exists(pid);
	process->own = (int8_t)is_own(asker, pid);
	gpu->own_seen |= process->own;
	gpu->count++;
	return process;
}

static void ask_lists(const struct asker *asker, unsigned number, struct watched_gpu *gpu)
{
	struct nvml_process list[ENTRIES];

	for (enum nvml_list which = 0; which < NVML_LISTS; which++) {
		unsigned count = ENTRIES;
		int error = nvml_list(asker->nvml, number, which, &count, list);

		for (unsigned i = 0; !error && i < count; i++)
			process_of(asker, gpu, list[i].pid);
		/* Data center GPUs may have no graphics, and old libraries no list for MPS. */
		if (which == NVML_COMPUTE) {
			gpu->list_error = error;
			gpu->listed += !error;
		}
	}
}

/* NVML may give several answers of one process: then the mean counts. */
static unsigned answers_of(const struct nvml_utilization *used, unsigned count, unsigned pid)
{
	unsigned answers = 0;

	for (unsigned i = 0; i < count; i++)
		answers += used[i].pid == pid;
	return answers;
}

static uint64_t cap(double percent)
{
	return percent > 100 ? 100 : (uint64_t)(percent + 0.5);
}

static void ask_use(const struct asker *asker, unsigned number, struct watched_gpu *gpu)
{
	struct nvml_utilization used[ENTRIES];
	double others = 0, invisible = 0;
	unsigned count = ENTRIES;

	gpu->use_error = nvml_utilization(asker->nvml, number, gpu->since, &count, used);
	if (gpu->use_error)
		return;
	for (unsigned i = 0; i < count; i++) {
		struct watched_process *process = process_of(asker, gpu, used[i].pid);
		double sm = (double)used[i].sm / answers_of(used, count, used[i].pid);

		if (used[i].at > gpu->since)
			gpu->since = used[i].at;
		if (!process || !used[i].sm)
			continue;
		process->computed = 1;
		if (!process->own && process->visible)
			others += sm;
		else if (!process->own)
			invisible += sm;
	}
	gpu->asked++;
	gpu->entries += count;
	gpu->others += cap(others);
	gpu->invisible += cap(invisible);
}

static void look(const struct asker *asker)
{
	for (unsigned i = 0; i < asker->watched->gpus; i++) {
		struct watched_gpu *gpu = &asker->watched->gpu[i];

		ask_lists(asker, i, gpu);
		ask_use(asker, i, gpu);
	}
}

static void ask(struct asker *asker, int line)
{
	struct watched *watched = asker->watched;
	struct pollfd end = { .fd = line, .events = POLLIN };
	uint64_t since = now_us();
	const char *why;
	int wait = PERIOD_MS / 5;

	if (nvml_open(&asker->nvml, &why)) {
		snprintf(watched->why, sizeof(watched->why), "%s", why);
		return;
	}
	watched->gpus = nvml_count(asker->nvml);
	if (watched->gpus > WATCH_GPUS)
		watched->gpus = WATCH_GPUS;
	for (unsigned i = 0; i < watched->gpus; i++) {
		watched->gpu[i].since = since;
		watched->gpu[i].list_error =
			nvml_find_place(asker->nvml, i, &watched->gpu[i].place);
	}
	watched->ready = 1;
	do {
		look(asker);
		if (poll(&end, 1, wait) > 0)
			break;
		wait = PERIOD_MS;
	} while (1);
	look(asker);
}

/* Ends with "run", and only with it: a signal of the terminal is for the program. */
static void become_asker(struct asker *asker, int line)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	ask(asker, line);
	_exit(0);
}

void watch_start(struct watch *watch, pid_t program, const char *folder)
{
	struct asker asker = { .program = program, .folder = folder };
	int line[2];

	*watch = (struct watch){ .line = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
		return;
	asker.watched = mmap(NULL, sizeof(*asker.watched), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	watch->asker = asker.watched == MAP_FAILED ? -1 : fork();
	if (!watch->asker) {
		close(line[0]);
		become_asker(&asker, line[1]);
	}
	close(line[1]);
	watch->line = line[0];
	if (watch->asker > 0)
		watch->watched = asker.watched;
	else
		watch_release(watch);
}

void watch_stop(struct watch *watch)
{
	if (watch->watched)
		shutdown(watch->line, SHUT_WR);
}

void watch_finish(struct watch *watch)
{
	struct pollfd end = { .fd = watch->line, .events = POLLIN };

	if (!watch->watched || watch->asker <= 0)
		return;
	if (poll(&end, 1, LAST_LOOK_MS) <= 0)
		kill(watch->asker, SIGKILL);
	else
		waitpid(watch->asker, NULL, 0);
	/* One that hangs in the driver is left to the system. */
	watch->asker = 0;
}

void watch_release(struct watch *watch)
{
	watch_finish(watch);
	if (watch->line > 0)
		close(watch->line);
	if (watch->watched)
		munmap(watch->watched, sizeof(*watch->watched));
	*watch = (struct watch){ .line = -1 };
}
