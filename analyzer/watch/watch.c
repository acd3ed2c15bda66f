/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <fcntl.h>
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

/*
 * NVML has a sample of use each 200 ms: a longer period never comes without a new one.  It answers
 * in 2 ms, and lists processes in 0.2 (H200, driver 580.159), so that short programs are seen, too.
 */
#define SAMPLE_US 200000
#define PERIOD_MS 250
#define FIRST_PERIOD_MS 50
#define HISTORY_US 1000000
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
	process->own = (uint8_t)is_own(asker, pid);
	gpu->count++;
	return process;
}

static void ask_lists(const struct asker *asker, unsigned number, struct watched_gpu *gpu)
{
	struct nvml_process list[ENTRIES];

	for (enum nvml_list which = 0; which < NVML_LISTS; which++) {
		unsigned count = ENTRIES;
		int error = nvml_list(asker->nvml, number, which, &count, list);

		for (unsigned i = 0; !error && i < count; i++) {
			struct watched_process *process = process_of(asker, gpu, list[i].pid);

			if (process)
				process->listed = 1;
			if (process)
				gpu->own_listed |= process->own;
		}
		gpu->mps |= which == NVML_MPS && !error && count;
		/* There may be no graphics, and no list for MPS in an old library. */
		if (which == NVML_COMPUTE && error)
			snprintf(gpu->error, sizeof(gpu->error), "NVML does not list processes: %s",
				nvml_text(asker->nvml, error));
		else if (which == NVML_COMPUTE)
			gpu->listed++;
	}
}

/*
 * In each of its samples NVML blames one process, the one that it finds on the GPU, for all of the
 * GPU's use; where an answer is about several samples, the processes share it.  The first answer is
 * about the second before the program used the GPU.
 */
static void ask_use(const struct asker *asker, unsigned number, struct watched_gpu *gpu)
{
	struct nvml_utilization used[ENTRIES];
	unsigned count = ENTRIES, sum = 0;
	int is_before = !gpu->asked_at;
	uint64_t now = now_us();

	/* In less than a sample's time there may be no new one, which looks like an idle GPU. */
	if (now - gpu->asked_at < SAMPLE_US)
		return;
	if (is_before)
		gpu->since = now - HISTORY_US;
	gpu->asked_at = now;
	if (nvml_utilization(asker->nvml, number, gpu->since, &count, used)) {
		gpu->refused++;
		return;
	}
	gpu->since = is_before ? now : gpu->since;
	gpu->answered += !is_before;
	for (unsigned i = 0; i < count; i++)
		sum += used[i].sm;
	for (unsigned i = 0; i < count; i++) {
		struct watched_process *process =
			used[i].sm ? process_of(asker, gpu, used[i].pid) : NULL;

		if (used[i].at > gpu->since)
			gpu->since = used[i].at;
		if (!process)
			continue;
		process->named++;
		if (!is_before)
			process->percent += used[i].sm * 100.0 / (sum > 100 ? sum : 100);
	}
}

/* Returns how long to wait for the next look, ms: longer once the program uses a GPU. */
static int look(const struct asker *asker)
{
	int wait = FIRST_PERIOD_MS;

	for (unsigned i = 0; i < asker->watched->gpus; i++) {
		struct watched_gpu *gpu = &asker->watched->gpu[i];

		ask_lists(asker, i, gpu);
		if (!gpu->own_listed)
			continue;
		ask_use(asker, i, gpu);
		wait = PERIOD_MS;
	}
	return wait;
}

static void ask(struct asker *asker, int line)
{
	struct watched *watched = asker->watched;
	struct pollfd end = { .fd = line, .events = POLLIN };
	const char *why;

	if (nvml_open(&asker->nvml, &why)) {
		snprintf(watched->why, sizeof(watched->why), "%s", why);
		return;
	}
	watched->gpus = nvml_count(asker->nvml);
	if (watched->gpus > WATCH_GPUS)
		watched->gpus = WATCH_GPUS;
	/* One that fails is none of the run's. */
	for (unsigned i = 0; i < watched->gpus; i++)
		nvml_find_place(asker->nvml, i, &watched->gpu[i].place);
	watched->ready = 1;
	while (!poll(&end, 1, look(asker)))
		;
	look(asker);
}

/* Ends with "run", and only with it: a signal of the terminal is for the program. */
static void become_asker(struct asker *asker, int line, pid_t run)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	/* Whoever reads the program's output must not wait for this process. */
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (null >= 0 && getppid() == run)
		ask(asker, line);
	_exit(0);
}

void watch_start(struct watch *watch, pid_t program, const char *folder)
{
	struct asker asker = { .program = program, .folder = folder };
	pid_t run = getpid();
	int line[2];

	*watch = (struct watch){ .line = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
		return;
	asker.watched = mmap(NULL, sizeof(*asker.watched), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	watch->asker = asker.watched == MAP_FAILED ? -1 : fork();
	if (!watch->asker) {
		close(line[0]);
		become_asker(&asker, line[1], run);
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
	/* One that hangs in the driver, even in its end, is left to the system. */
	waitpid(watch->asker, NULL, WNOHANG);
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
