/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "settings.h"
#include "traced.h"

#define STEADY_WINDOWS 100                           /* then periods are twice as long, and so on */
#define LONGEST_PERIOD (UINT64_C(1200) * 1000000000) /* ns */
#define WINDOW_US 50000 /* without the opening of CUPTI; even: CONTROL_FOUND */
#define WINDOW_NS (WINDOW_US * UINT64_C(1000))
#define PERIOD_NS UINT64_C(5000000000)
#define PERIOD_LEAST_NS UINT64_C(200000000)

struct sampled_process {
	uint32_t pid;
	uint64_t born, identity;
	uint64_t due; /* the next window, CLOCK_MONOTONIC ns */
	uint32_t windows;
	uint32_t looked; /* windows there were when a head was last looked for */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int sampler_read_period(const char *text, uint64_t *ns)
{
	*ns = PERIOD_NS;
	return !*text || (setting_seconds(text, ns) && *ns >= PERIOD_LEAST_NS);
}

/*
 * The first window is not at the start, which is like nothing later.  Periods differ by up to a
 * quarter, evenly (multiples of the golden ratio), so that a program that does something in each
 * period is not seen at the same place of it each time.  They get longer: a week needs no more
 * samples than a day, and CUPTI loses memory with each one (cupti/collector.c).
 */
static uint64_t next_period(const struct sampler *sampler, uint32_t windows)
{
	uint32_t part = windows * 2654435769u;
	uint64_t period = sampler->period;

	for (uint32_t i = STEADY_WINDOWS; i <= windows && period < LONGEST_PERIOD / 2;
		i += STEADY_WINDOWS)
		period *= 2;
	return windows ? period + (period / 4 * (part >> 16) >> 16) : period / 2;
}

static struct sampled_process *process_of(struct sampler *sampler, const struct traced *traced,
	uint64_t now)
{
	const struct file_header *header = traced->header;
	struct sampled_process *process;

	for (size_t i = 0; i < sampler->count; i++)
		if (sampler->process[i].pid == header->pid &&
			sampler->process[i].born == header->control.born &&
			sampler->process[i].identity == header->identity)
			return &sampler->process[i];
	process = array_push(sampler->process, sampler->count);
	*process = (struct sampled_process){ .pid = header->pid,
		.born = header->control.born,
		.identity = header->identity,
		.due = now + next_period(sampler, 0) };
	return process;
}

/* Asks those that are due; returns for which there is a request. */
static struct traced_request *ask(struct sampler *sampler, const struct traced_list *list,
	uint64_t now)
{
	struct traced_request *request = xcalloc(list->count + 1, sizeof(*request));

	for (size_t i = 0; i < list->count; i++) {
		struct sampled_process *process = process_of(sampler, &list->item[i], now);

		/* A window that somebody else has asked for is left alone. */
		if (now < process->due || traced_state(&list->item[i]) != CONTROL_PAUSED)
			continue;
		request[i] = traced_ask_sample(&list->item[i], WINDOW_US);
		process->due = now + next_period(sampler, ++process->windows);
	}
	return request;
}

static int is_late(const struct traced *traced, struct traced_request request, uint64_t until)
{
	uint64_t now = now_ns();

	return traced_wait(traced, request,
		       now < until ? (unsigned)((until - now) / 1000000) : 0) == NOT_YET;
}

/*
 * A window begins with a call.  One that would begin later than it would end has none: it is
 * withdrawn, and counts as an empty one, as else a server that is idle at times would seem never to
 * be.  If a call has found it, it has as long again, in which CUPTI is opened.
 */
static void withdraw(const struct traced_list *list, const struct traced_request *request,
	uint64_t since)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct traced *traced = &list->item[i];

		if (request[i].asked && is_late(traced, request[i], since + WINDOW_NS) &&
			!traced_withdraw_sample(traced, WINDOW_US) &&
			is_late(traced, request[i], since + 2 * WINDOW_NS))
			traced_withdraw_sample(traced, WINDOW_US | CONTROL_FOUND);
	}
}

/* What the analysis says is of no interest here, and signals for the program are not for it. */
static void find_head(const struct sampler *sampler, const struct traced *traced)
{
	int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
	uint32_t head;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	dup2(quiet, STDOUT_FILENO);
	dup2(quiet, STDERR_FILENO);
	nice(10);
	head = sampler->find_head(traced->trace);
	__atomic_store_n(&traced->header->control.head, head, __ATOMIC_RELEASE);
	_exit(0);
}

static int needs_head(const struct sampled_process *process, const struct traced *traced)
{
	const struct trace_control *control = &traced->header->control;

	return !__atomic_load_n(&control->head, __ATOMIC_RELAXED) &&
		traced_state(traced) == CONTROL_PAUSED && control->windows > 2 * process->looked;
}

/* One process at a time, in a child: an analysis takes seconds, and windows go on. */
static void look_for_heads(struct sampler *sampler, const struct traced_list *list)
{
	if (sampler->analyst && waitpid(sampler->analyst, NULL, WNOHANG))
		sampler->analyst = 0;
	for (size_t i = 0; sampler->find_head && !sampler->analyst && i < list->count; i++) {
		struct sampled_process *process = process_of(sampler, &list->item[i], now_ns());

		if (!needs_head(process, &list->item[i]))
			continue;
		process->looked = list->item[i].header->control.windows;
		fflush(NULL);
		sampler->analyst = fork();
		if (!sampler->analyst)
			find_head(sampler, &list->item[i]);
		if (sampler->analyst < 0)
			sampler->analyst = 0;
	}
}

void sampler_look(struct sampler *sampler)
{
	struct traced_list list;
	uint64_t now = now_ns();
	struct traced_request *request;

	if (!sampler->period || traced_find(&list, sampler->folder))
		return;
	request = ask(sampler, &list, now);
	withdraw(&list, request, now);
	free(request);
	look_for_heads(sampler, &list);
	traced_release(&list);
}

void sampler_release(struct sampler *sampler)
{
	if (sampler->analyst) {
		kill(sampler->analyst, SIGKILL);
		waitpid(sampler->analyst, NULL, 0);
	}
	free(sampler->process);
	*sampler = (struct sampler){ .folder = sampler->folder };
}
